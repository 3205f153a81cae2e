/// Counters, gauges and histograms behind one registry; prometheus-cpp stays inside. Handles are
/// cheap to copy and thread-safe. Rows that are a picture of the state (devices, pods) are not
/// registered here: a collector returns them at scrape time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::obs {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  void increment(double by = 1) const;
  double value() const;

 private:
  friend class Metrics;
  void* impl_ = nullptr;
};
class Gauge {
 public:
  void set(double value) const;
  double value() const;

 private:
  friend class Metrics;
  void* impl_ = nullptr;
};
class Histogram {
 public:
  /// Takes no lock.
  void observe(double value) const;

 private:
  friend class Metrics;
  void* impl_ = nullptr;
};

struct Sample {
  Labels labels;
  double value = 0;
};
struct GaugeFamily {
  std::string name, help;
  std::vector<Sample> samples;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Counter counter(std::string_view name, std::string_view help, const Labels& labels = {});
  Gauge gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  Histogram histogram(std::string_view name, std::string_view help,
                      const std::vector<double>& bounds, const Labels& labels = {});
  /// Text exposition format 0.0.4 of everything registered plus the families given.
  std::string render(const std::vector<GaugeFamily>& more = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// 0.05 ms … 10 s, in seconds.
std::vector<double> latency_bounds();
/// 1 us … 0.1 s, in seconds: parts of a call.
std::vector<double> phase_bounds();

}  // namespace tessera::obs
