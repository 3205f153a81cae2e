#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "json/writer.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kNoCheck = "NOT CHECKED: an error of the bench";

/// Four digits that count, as people read them.
std::string number_text(double value) {
  if (!std::isfinite(value)) return "?";
  const double size = std::fabs(value);
  if (size >= 1000 || value == std::floor(value)) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return size >= 0.01 ? fmt::format("{:.3f}", value) : fmt::format("{:.5f}", value);
}

const Figure* find(const Row& row, std::string_view name) {
  for (const Figure& figure : row.figures())
    if (figure.name == name) return &figure;
  return nullptr;
}

std::vector<std::string> columns_of(const Report& report) {
  std::vector<std::string> names;
  for (const Row& row : report.rows) {
    for (const Figure& figure : row.figures())
      if (std::find(names.begin(), names.end(), figure.name) == names.end())
        names.push_back(figure.name);
  }
  return names;
}

using Lines = std::vector<std::vector<std::string>>;

Lines cells_of(const Report& report) {
  const auto columns = columns_of(report);
  Lines lines(1, {"what"});
  lines[0].insert(lines[0].end(), columns.begin(), columns.end());
  for (const Row& row : report.rows) {
    auto& line = lines.emplace_back(1, row.what());
    for (const auto& name : columns) {
      const Figure* figure = find(row, name);
      line.push_back(
          figure == nullptr ? "" : number_text(figure->value) + (figure->missed() ? "!" : ""));
    }
  }
  return lines;
}

/// The first column begins at the left, the figures end at the right.
std::string aligned(const Lines& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    out += fmt::format("{:<{}}", line[0], widths[0]);
    for (std::size_t i = 1; i < line.size(); ++i)
      out += fmt::format("  {:>{}}", line[i], widths[i]);
    out += '\n';
  }
  return out;
}

std::string target_line(const Row& row, const Figure& figure) {
  std::string out = fmt::format("{}  {}: {} {}, must {} {}", figure.missed() ? "MISSED" : "met   ",
                                row.what(), figure.name, number_text(figure.value),
                                figure.more_is_better ? ">=" : "<=", number_text(*figure.must));
  if (figure.aim) out += ", aim " + number_text(*figure.aim);
  return out + '\n';
}

void write_number(json::Writer& w, double value) {
  std::isfinite(value) ? w.number(value) : w.null();
}

/// Of the figures that have one.
void write_limits(json::Writer& w, const Row& row, std::string_view key,
                  std::optional<double> Figure::*limit) {
  w.key(key).begin_object();
  for (const Figure& figure : row.figures())
    if (figure.*limit) write_number(w.key(figure.name), *(figure.*limit));
  w.end_object();
}

void write_row(json::Writer& w, const Row& row) {
  w.begin_object().key("what").string(row.what());
  for (const Figure& figure : row.figures()) write_number(w.key(figure.name), figure.value);
  write_limits(w, row, "must", &Figure::must);
  write_limits(w, row, "aim", &Figure::aim);
  w.key("missed").begin_array();
  for (const Figure& figure : row.figures())
    if (figure.missed()) w.string(figure.name);
  w.end_array().key("checked").integer(row.answers_checked());
  w.key("check").string(row.check().empty() ? kNoCheck : row.check()).end_object();
}

}  // namespace

bool Figure::missed() const {
  if (!must) return false;
  // Not "value > must": a figure that is no number has missed.
  return more_is_better ? !(value >= *must) : !(value <= *must);
}

Row& Row::add(std::string_view name, double value) {
  figures_.push_back({.name = std::string(name), .value = value});
  return *this;
}

Row& Row::must(std::string_view name, double at_most, std::optional<double> aim) {
  return target(name, at_most, aim, false);
}

Row& Row::must_reach(std::string_view name, double at_least, std::optional<double> aim) {
  return target(name, at_least, aim, true);
}

Row& Row::target(std::string_view name, double limit, std::optional<double> aim,
                 bool more_is_better) {
  if (find(*this, name) == nullptr) add(name, std::numeric_limits<double>::quiet_NaN());
  for (Figure& figure : figures_) {
    if (figure.name != name) continue;
    figure.must = limit;
    figure.aim = aim;
    figure.more_is_better = more_is_better;
  }
  return *this;
}

Row& Row::checked(std::int64_t answers, std::string what) {
  answers_ += answers;
  if (!check_.empty()) check_ += "; ";
  check_ += what;
  return *this;
}

bool all_checked(const Report& report) {
  return !report.rows.empty() && std::all_of(report.rows.begin(), report.rows.end(), [](auto& row) {
    return row.answers_checked() > 0 && !row.check().empty();
  });
}

std::string report_table(const Report& report) {
  std::string out = fmt::format("{}: {}\n", report.scenario, report.setting);
  Report sound = report;
  std::erase_if(sound.rows, [](const Row& row) { return row.answers_checked() <= 0; });
  if (!sound.rows.empty()) out += aligned(cells_of(sound));
  for (const Row& row : report.rows) {
    out += row.answers_checked() <= 0 ? fmt::format("{}: {}\n", row.what(), kNoCheck)
                                      : fmt::format("checked  {}: {} answers, {}\n", row.what(),
                                                    row.answers_checked(), row.check());
  }
  for (const Row& row : sound.rows) {
    for (const Figure& figure : row.figures())
      if (figure.must) out += target_line(row, figure);
  }
  return out;
}

std::string report_json(const Report& report) {
  json::Writer w;
  w.begin_object().key("scenario").string(report.scenario).key("setting").string(report.setting);
  w.key("machine").begin_object().key("cores").integer(std::thread::hardware_concurrency());
  w.end_object().key("rows").begin_array();
  for (const Row& row : report.rows) write_row(w, row);
  w.end_array().end_object();
  return std::move(w).take() + '\n';
}

}  // namespace tessera::bench
