#include "sim/demo_screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/demo_row.h"
#include "sim/reason_words.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kTitle = "1;38;5;231;48;5;24", kLabel = "38;5;245", kValue = "1",
                           kMemory = "38;5;39", kCores = "38;5;43", kFull = "38;5;77",
                           kWaiting = "38;5;222";
constexpr double kFullShare = 0.995;
constexpr int kTallScreen = 30;

std::string clock_text(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return fmt::format("{:02}:{:02}", seconds / 60, seconds % 60);
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// As people write it on one row: "gpu=1 mem=47% cores=47".
std::string short_asks(std::string asks) {
  const auto replace = [&](std::string_view what, std::string_view with, std::string_view behind) {
    for (std::size_t at = asks.find(what); at != std::string::npos; at = asks.find(what, at)) {
      asks.replace(at, what.size(), with);
      at = asks.find_first_of(" ", at + with.size());
      if (at == std::string::npos) at = asks.size();
      asks.insert(at, behind);
    }
  };
  replace("gpumem-percentage=", "mem=", "%");
  replace("gpumem=", "mem=", "Mi");
  replace("gpucores=", "cores=", "");
  return asks;
}

double share(std::int64_t used, std::int64_t total) {
  return total == 0 ? 0 : static_cast<double>(used) / static_cast<double>(total);
}

class Screen {
 public:
  Screen(const DemoPicture& picture, ScreenSize size, bool colour)
      : picture_(picture), size_(size), colour_(colour) {}

  std::vector<std::string> render() {
    const bool tall = size_.height >= kTallScreen;
    title();
    if (tall) blank();
    totals();
    if (tall) blank();
    figures();
    blank();
    const int waiting_rows = tall ? 8 : 4;  // with its heading
    nodes(std::max(1, size_.height - used() - waiting_rows - 1 - 1));
    blank();
    waiting(size_.height - used() - 1);
    while (used() < size_.height - 1) blank();
    rows_.resize(static_cast<std::size_t>(std::max(0, size_.height - 1)));
    footer();
    return std::move(rows_);
  }

 private:
  int used() const { return static_cast<int>(rows_.size()); }
  Row row() const { return {size_.width, colour_}; }
  void add(const Row& r) { rows_.push_back(r.bytes()); }
  void blank() { rows_.emplace_back(); }

  void title() {
    const std::string end =
        picture_.duration.count() > 0 ? " / " + clock_text(picture_.duration) : std::string();
    const std::size_t cards = picture_.nodes.empty() ? 0 : picture_.nodes.front().devices.size();
    Row r = row();
    r.text(fmt::format(" tessera demo   {} nodes x {} {}", picture_.nodes.size(), cards,
                       picture_.model),
           kTitle);
    r.right(fmt::format("{}{} ", clock_text(picture_.elapsed), end), kTitle)
        .pad_to(size_.width, kTitle);
    add(r);
  }

  void total(std::string_view name, double part, std::string_view fill,
             const std::string& figures) {
    Row r = row();
    const int cells = std::max(10, size_.width - 12 - 6 - 33);
    r.text(fmt::format(" {:<10}", name), kLabel)
        .bar(part, cells, part >= kFullShare ? kFull : fill);
    r.text(fmt::format("{:4.0f} %  ", part * 100), kValue).text(figures, kLabel);
    add(r);
  }

  void totals() {
    const DemoShares s = shares_of(picture_.nodes);
    total(
        "memory", s.memory, kMemory,
        fmt::format("{} of {} GiB", grouped(s.memory_used / 1024), grouped(s.memory_total / 1024)));
    total("cores", s.cores, kCores,
          fmt::format("{:.1f} of {} cards", static_cast<double>(s.cores_used) / 100,
                      s.cores_total / 100));
  }

  void figures() {
    const SchedulerLoopStats& l = picture_.loop;
    Row first = row();
    figure(first, " decisions", fmt::format("{:.0f}/s", picture_.decisions_per_second));
    figure(first, "filter p50", fmt::format("{:.2f} ms", l.filter_p50_ms));
    figure(first, "p99", fmt::format("{:.2f} ms", l.filter_p99_ms));
    figure(first, "created to bound p50", fmt::format("{:.0f} ms", l.bound_p50_ms));
    add(first);
    Row second = row();
    figure(second, " pods", grouped(static_cast<std::int64_t>(picture_.created)));
    figure(second, "bound", grouped(static_cast<std::int64_t>(l.binds)));
    figure(second, "running", std::to_string(shares_of(picture_.nodes).running));
    figure(second, "finished", grouped(static_cast<std::int64_t>(picture_.finished)));
    figure(second, "waiting", std::to_string(l.pending));
    if (l.errors + l.bind_errors > 0)
      figure(second, "errors", std::to_string(l.errors + l.bind_errors));
    add(second);
  }

  static void figure(Row& r, std::string_view name, const std::string& value) {
    if (r.used() > 0) r.text("   ");
    r.text(std::string(name) + " ", kLabel).text(value, kValue);
  }

  /// In as few columns side by side as the height asks for, and the width allows.
  void nodes(int rows) {
    if (picture_.nodes.empty()) return;
    const int count = static_cast<int>(picture_.nodes.size());
    const int cards = static_cast<int>(picture_.nodes.front().devices.size());
    const int name = name_width();
    const int narrowest = name + 2 + cards + 4;
    const int most = std::max(1, size_.width / std::max(1, narrowest));
    const int columns = std::clamp((count + rows - 1) / rows, 1, most);
    const int lines = std::min(rows, (count + columns - 1) / columns);
    const int shown = lines * columns;
    for (int line = 0; line < lines; ++line) {
      Row r = row();
      for (int column = 0; column < columns; ++column) {
        const int at = column * lines + line;
        r.pad_to(column * (size_.width / columns));
        const bool last = line == lines - 1 && column == columns - 1;
        if (last && shown < count) {
          r.text(fmt::format(" and {} nodes more", count - shown + 1), kLabel);
        } else if (at < count) {
          node(r, picture_.nodes[static_cast<std::size_t>(at)], name, size_.width / columns);
        }
      }
      add(r);
    }
  }

  int name_width() const {
    int width = 0;
    for (const AgentNodeView& n : picture_.nodes) width = std::max(width, columns_of(n.name));
    return std::min(width, 20);
  }

  void node(Row& r, const AgentNodeView& view, int name, int width) const {
    const int cards = std::max(1, static_cast<int>(view.devices.size()));
    const int room = (width - name - 2 - 4) / cards;
    const int cells = std::clamp(room - 1, 1, 12);
    const int begin = r.used();
    r.text(" ")
        .text(std::string_view(view.name).substr(0, static_cast<std::size_t>(name)), kLabel)
        .pad_to(begin + name + 2);
    for (std::size_t i = 0; i < view.devices.size(); ++i) {
      const double part = share(view.used[i].memory.v, view.devices[i].memory.v);
      r.bar(part, cells, part >= kFullShare ? kFull : kMemory);
      if (room > 1) r.text(" ");
    }
    r.text(fmt::format("{:3}", view.pods), view.pods > 0 ? kValue : kLabel);
  }

  void waiting(int rows) {
    if (rows < 2) return;
    std::vector<const WaitingPod*> told;
    for (const WaitingPod& pod : picture_.waiting)
      if (!pod.reason.empty()) told.push_back(&pod);
    Row heading = row();
    heading.text(told.empty() ? " no pod waits for room" : " waiting for room", kLabel);
    add(heading);
    const auto shown = std::min(told.size(), static_cast<std::size_t>(rows - 1));
    int names = 0, asks = 0;
    for (std::size_t i = 0; i < shown; ++i) {
      names = std::max(names, columns_of(told[i]->name));
      asks = std::max(asks, columns_of(short_asks(told[i]->asks)));
    }
    names = std::min(names, size_.width / 4);
    asks = std::min(asks, size_.width / 3);
    for (std::size_t i = 0; i < shown; ++i) {
      Row r = row();
      r.text(" ").column(told[i]->name, names, kWaiting).text("  ");
      r.column(short_asks(told[i]->asks), asks, kLabel)
          .text("  ")
          .text(reason_in_words(told[i]->reason));
      add(r);
    }
  }

  void footer() {
    Row r = row();
    if (!picture_.kubeconfig.empty())
      r.text(fmt::format(" kubectl --kubeconfig {} get pods -o wide", picture_.kubeconfig), kLabel);
    r.right("Ctrl-C ends ", kLabel);
    add(r);
  }

  const DemoPicture& picture_;
  ScreenSize size_;
  bool colour_;
  std::vector<std::string> rows_;
};

}  // namespace

DemoShares shares_of(const std::vector<AgentNodeView>& nodes) {
  DemoShares s;
  for (const AgentNodeView& node : nodes) {
    s.running += node.pods;
    for (std::size_t i = 0; i < node.devices.size(); ++i) {
      s.memory_used += node.used[i].memory.v;
      s.memory_total += node.devices[i].memory.v;
      s.cores_used += node.used[i].cores.v;
      s.cores_total += node.devices[i].cores.v;
    }
  }
  s.memory = share(s.memory_used, s.memory_total);
  s.cores = share(s.cores_used, s.cores_total);
  return s;
}

std::vector<std::string> render_screen(const DemoPicture& picture, ScreenSize size, bool colour) {
  return Screen(picture, {std::max(size.width, 40), std::max(size.height, 12)}, colour).render();
}

std::string render_line(const DemoPicture& picture) {
  const DemoShares s = shares_of(picture.nodes);
  const SchedulerLoopStats& l = picture.loop;
  std::string line = fmt::format(
      "{} decisions {:.0f}/s filter p50 {:.2f} ms p99 {:.2f} ms | pods {} bound {} running {} "
      "finished {} waiting {} | memory {:.0f} % cores {:.0f} %",
      clock_text(picture.elapsed), picture.decisions_per_second, l.filter_p50_ms, l.filter_p99_ms,
      picture.created, l.binds, s.running, picture.finished, l.pending, s.memory * 100,
      s.cores * 100);
  for (const WaitingPod& pod : picture.waiting) {
    if (pod.reason.empty()) continue;
    line += fmt::format(" | {}: {}", pod.name, reason_in_words(pod.reason));
    break;
  }
  return line;
}

std::string render_summary(const DemoSummary& summary) {
  const DemoPicture& p = summary.picture;
  const SchedulerLoopStats& l = p.loop;
  const double seconds = static_cast<double>(p.elapsed.count()) / 1000;
  const std::size_t cards = p.nodes.empty() ? 0 : p.nodes.front().devices.size();
  std::string out = fmt::format("tessera demo: {:.1f} s, {} nodes x {} {}\n  replayed   {}\n",
                                seconds, p.nodes.size(), cards, p.model, summary.what);
  out += fmt::format("  pods       {} created, {} bound, {} finished, {} waiting at the end\n",
                     p.created, l.binds, p.finished, l.pending);
  out += fmt::format("  decisions  {} ({:.1f}/s), filter p50 {:.2f} ms, p99 {:.2f} ms\n", l.filters,
                     seconds > 0 ? static_cast<double>(l.filters) / seconds : 0, l.filter_p50_ms,
                     l.filter_p99_ms);
  out += fmt::format("  bound      p50 {:.0f} ms, p99 {:.0f} ms after the pod was seen\n",
                     l.bound_p50_ms, l.bound_p99_ms);
  out += fmt::format(
      "  cards      on average {:.0f} % of the memory and {:.0f} % of the cores allocated\n",
      summary.mean_memory * 100, summary.mean_cores * 100);
  if (l.errors + l.bind_errors > 0)
    out += fmt::format("  errors     {} of filter, {} of bind; the last: {}\n", l.errors,
                       l.bind_errors, l.last_error);
  if (summary.faults.empty())
    out += "  checks     no device over its limits; locks and device texts as they must be\n";
  for (const std::string& fault : summary.faults) out += fmt::format("  FAULT      {}\n", fault);
  return out;
}

}  // namespace tessera::sim
