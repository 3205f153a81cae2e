#include "obs/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
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

/// Counts without a lock: prometheus-cpp's own histogram takes one, and a page that is being made
/// by a thread of low priority may hold it.
class Buckets {
 public:
  explicit Buckets(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void observe(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  prometheus::ClientMetric::Histogram collect() const {
    prometheus::ClientMetric::Histogram out;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      out.sample_count += counts_[i].load(std::memory_order_relaxed);
      const double bound =
          i < bounds_.size() ? bounds_[i] : std::numeric_limits<double>::infinity();
      out.bucket.push_back({out.sample_count, bound});
    }
    out.sample_sum = sum_.load(std::memory_order_relaxed);
    return out;
  }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

struct HistogramFamily {
  std::string help;
  std::map<Labels, std::unique_ptr<Buckets>> rows;
};

prometheus::MetricFamily to_family(const std::string& name, const HistogramFamily& from) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = from.help;
  family.type = prometheus::MetricType::Histogram;
  for (const auto& [labels, buckets] : from.rows) {
    prometheus::ClientMetric metric;
    for (const auto& [label, value] : labels) metric.label.push_back({label, value});
    metric.histogram = buckets->collect();
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
  if (impl_ != nullptr) static_cast<Buckets*>(impl_)->observe(value);
}

struct Metrics::Impl {
  prometheus::Registry registry;
  mutable std::mutex mutex;
  std::map<std::string, HistogramFamily, std::less<>> histograms;  // guarded by mutex
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
  const std::lock_guard guard(impl_->mutex);
  HistogramFamily& family = impl_->histograms[std::string(name)];
  family.help = help;
  std::unique_ptr<Buckets>& buckets = family.rows[labels];
  if (buckets == nullptr) buckets = std::make_unique<Buckets>(bounds);
  Histogram handle;
  handle.impl_ = buckets.get();
  return handle;
}

std::string Metrics::render(const std::vector<GaugeFamily>& more) const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  {
    const std::lock_guard guard(impl_->mutex);
    for (const auto& [name, family] : impl_->histograms)
      families.push_back(to_family(name, family));
  }
  for (const GaugeFamily& family : more) families.push_back(to_family(family));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

std::vector<double> phase_bounds() {
  return {0.000001, 0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001,
          0.0002,   0.0005,   0.001,    0.002,   0.005,   0.01,    0.1};
}

std::vector<double> latency_bounds() {
  return {0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
          0.05,    0.1,    0.2,    0.5,    1,     2,     5,     10};
}

}  // namespace tessera::obs
