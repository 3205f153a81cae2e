#include "obs/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

namespace tessera::obs {
namespace {

prometheus::MetricFamily to_family(const GaugeFamily& from) {
  prometheus::MetricFamily family;
  family.name = from.name;
  family.help = from.help;
  family.type = prometheus::MetricType::Gauge;
  family.metric.reserve(from.samples.size());
  for (const Sample& sample : from.samples) {
    prometheus::ClientMetric metric;
    metric.gauge.value = sample.value;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

// A handle that was never registered counts nothing; it is a valid placeholder in tests and
// optional parts.
void Counter::increment(double by) const {
  if (impl_ != nullptr) static_cast<prometheus::Counter*>(impl_)->Increment(by);
}
double Counter::value() const {
  return impl_ == nullptr ? 0 : static_cast<const prometheus::Counter*>(impl_)->Value();
}
void Gauge::set(double value) const {
  if (impl_ != nullptr) static_cast<prometheus::Gauge*>(impl_)->Set(value);
}
double Gauge::value() const {
  return impl_ == nullptr ? 0 : static_cast<const prometheus::Gauge*>(impl_)->Value();
}
void Histogram::observe(double value) const {
  if (impl_ != nullptr) static_cast<prometheus::Histogram*>(impl_)->Observe(value);
}

struct Metrics::Impl {
  prometheus::Registry registry;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(std::string_view name, std::string_view help, const Labels& labels) {
  auto& family = prometheus::BuildCounter()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(impl_->registry);
  Counter handle;
  handle.impl_ = &family.Add(labels);
  return handle;
}

Gauge Metrics::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  auto& family = prometheus::BuildGauge()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(impl_->registry);
  Gauge handle;
  handle.impl_ = &family.Add(labels);
  return handle;
}

Histogram Metrics::histogram(std::string_view name, std::string_view help,
                             const std::vector<double>& bounds, const Labels& labels) {
  auto& family = prometheus::BuildHistogram()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(impl_->registry);
  Histogram handle;
  handle.impl_ = &family.Add(labels, bounds);
  return handle;
}

std::string Metrics::render(const std::vector<GaugeFamily>& more) const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  for (const GaugeFamily& family : more) families.push_back(to_family(family));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

std::vector<double> latency_bounds() {
  return {0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
          0.05,    0.1,    0.2,    0.5,    1,     2,     5,     10};
}

}  // namespace tessera::obs
