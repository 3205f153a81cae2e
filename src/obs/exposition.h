/// Text forms of a page of metrics. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tessera::obs {

constexpr std::string_view kPlainTextType = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A page of format 0.0.4 as OpenMetrics 1.0: families of counters lose their "_total", the page
/// gets its end mark. Counters that are not named "…_total" become gauges of unknown type.
std::string open_metrics(std::string_view page);
/// The same for some whole lines of a page, without the end mark.
void open_metrics_lines(std::string_view lines, std::string& out);
constexpr std::string_view kOpenMetricsEnd = "# EOF\n";

/// Whether an Accept header wants OpenMetrics.
bool accepts_open_metrics(std::string_view accept);

/// A label value between quotes: quotes, backslashes, line ends escaped, bytes that are no UTF-8
/// replaced.
std::string label_text(std::string_view value);

}  // namespace tessera::obs
