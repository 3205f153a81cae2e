#include "sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace tessera::sim {
namespace {

constexpr std::int64_t kWholeCard = 1000, kMostCards = 64;
constexpr double kRangeExponent = 0.35;  // 1 min and 1 day become 1 and 13 times a common length
constexpr std::chrono::milliseconds kShortest{300};

class TraceReader {
 public:
  explicit TraceReader(std::string_view file) : file_(file) {}

  Result<std::vector<TracePod>> read(std::string_view csv) {
    std::vector<TracePod> pods;
    for (std::string_view line : text::split(csv, '\n')) {
      ++line_;
      line = text::trim(line);
      if (line.empty()) continue;
      if (header_.empty()) {
        if (Status s = read_header(line); !s) return tl::unexpected(s.error());
        continue;
      }
      Result<TracePod> pod = read_row(line);
      if (!pod) return tl::unexpected(pod.error());
      pods.push_back(std::move(*pod));
    }
    if (pods.empty()) return wrong("no pods");
    return pods;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(Code::kInvalid, fmt::format("{}:{}: {}", file_, line_, what));
  }

  Status read_header(std::string_view line) {
    for (const std::string_view name : text::split(line, ',')) header_.emplace_back(name);
    for (const char* column : {"name", "num_gpu", "gpu_milli"}) {
      if (index_of(column) == header_.size())
        return wrong(fmt::format("no column {} in the header", column));
    }
    return {};
  }

  std::size_t index_of(std::string_view column) const {
    return static_cast<std::size_t>(std::find(header_.begin(), header_.end(), column) -
                                    header_.begin());
  }

  std::string_view field(std::string_view column) const {
    const std::size_t i = index_of(column);
    return i < fields_.size() ? fields_[i] : std::string_view();
  }

  Status number(std::string_view column, std::int64_t most, std::int64_t& out) const {
    if (index_of(column) == header_.size()) return {};
    const Result<std::int64_t> value = text::parse_int(field(column), 64);
    if (!value || *value < 0 || *value > most) {
      return wrong(fmt::format("column {}: {} is not a whole number from 0 to {}", column,
                               text::quote(field(column)), most));
    }
    out = *value;
    return {};
  }

  Result<TracePod> read_row(std::string_view line) {
    fields_ = text::split(line, ',');
    if (fields_.size() != header_.size())
      return wrong(fmt::format("{} fields, the header has {}", fields_.size(), header_.size()));
    TracePod pod{.name = std::string(field("name")), .models = std::string(field("gpu_spec"))};
    if (pod.name.empty()) return wrong("column name is empty");
    if (!names_.insert(pod.name).second)
      return wrong(fmt::format("column name: {} stands twice", text::quote(pod.name)));
    constexpr std::int64_t kAny = INT64_MAX;
    struct Column {
      std::string_view name;
      std::int64_t most;
      std::int64_t& out;
    };
    for (const Column& c :
         {Column{"cpu_milli", kAny, pod.cpu_milli}, Column{"memory_mib", kAny, pod.memory_mib},
          Column{"num_gpu", kMostCards, pod.cards}, Column{"gpu_milli", kWholeCard, pod.card_milli},
          Column{"creation_time", kAny, pod.created_s},
          Column{"deletion_time", kAny, pod.deleted_s}}) {
      if (Status s = number(c.name, c.most, c.out); !s) return tl::unexpected(s.error());
    }
    if (pod.cards > 0 && pod.card_milli == 0)
      return wrong(fmt::format("column gpu_milli: 0 of {} cards", pod.cards));
    if (pod.cards > 1 && pod.card_milli < kWholeCard)
      return wrong(
          fmt::format("column gpu_milli: {} of each of {} cards; parts are of one card only",
                      pod.card_milli, pod.cards));
    if (pod.deleted_s < pod.created_s)
      return wrong(fmt::format("column deletion_time: {} is before creation_time {}", pod.deleted_s,
                               pod.created_s));
    return pod;
  }

  std::string_view file_;
  int line_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
  std::set<std::string> names_;
};

double compressed(const TracePod& pod) {
  return std::pow(static_cast<double>(std::max<std::int64_t>(pod.deleted_s - pod.created_s, 1)),
                  kRangeExponent);
}
double cards_of(const TracePod& pod) {
  return static_cast<double>(pod.cards * pod.card_milli) / static_cast<double>(kWholeCard);
}

}  // namespace

Result<std::vector<TracePod>> parse_trace(std::string_view csv, std::string_view file) {
  return TraceReader(file).read(csv);
}

std::vector<ReplayPod> plan_replay(std::vector<TracePod> pods, const ReplayPlan& plan) {
  pods.erase(
      std::remove_if(pods.begin(), pods.end(), [](const TracePod& p) { return p.cards == 0; }),
      pods.end());
  std::stable_sort(pods.begin(), pods.end(),
                   [](const TracePod& a, const TracePod& b) { return a.created_s < b.created_s; });
  // In the long run cards in use = pods per second * mean of (cards * seconds).
  double card_time = 0;
  for (const TracePod& pod : pods) card_time += cards_of(pod) * compressed(pod);
  const double wanted = plan.cards * plan.load * static_cast<double>(pods.size());
  const double seconds =
      card_time > 0 && plan.pods_per_second > 0 ? wanted / (plan.pods_per_second * card_time) : 0;
  std::vector<ReplayPod> out;
  for (const TracePod& pod : pods) {
    const std::chrono::milliseconds run_for(
        static_cast<std::int64_t>(compressed(pod) * seconds * 1000));
    out.push_back({pod.name, pod.cards, std::max<std::int64_t>(pod.card_milli / 10, 1),
                   std::max(run_for, kShortest)});
  }
  return out;
}

}  // namespace tessera::sim
