/// One filter or scoring call: from the body to the nodes it is about, and from their labels to the
/// body of the answer. Source: spec/label-priority-extender.md sections 2 to 5, 7, 9. Thread rule:
/// one owner at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/extender.h"
#include "label_priority/rule.h"

namespace tessera::label_priority {

class Call {
 public:
  /// The error is about the body, in words.
  static Result<std::unique_ptr<Call>> read(std::string body, const Rules& rules);

  /// Only names came, so that somebody else must know the labels.
  bool names_only() const { return !args_.has_nodes && args_.has_names && !rules_.compat; }
  /// Whatever came, there is nothing that could be answered about.
  bool nameless() const { return !args_.has_nodes && !names_only(); }
  void look_up(const std::function<NodeLabel(std::string_view name)>& label_of);
  /// Of full nodes: name, and the value of a label that is no number, else nullptr.
  void each_label(
      const std::function<void(std::string_view name, const std::string* bad_value)>& f) const;

  std::string filter() const;
  std::string filter_only_one() const;
  std::string prioritize() const;

 private:
  explicit Call(const Rules& rules)
      : rules_(rules),
        no_label_("node has no label " + rules.label),
        another_preferred_("another node is preferred by label " + rules.label) {}
  std::string nothing_fits() const;
  void keep(std::size_t i, k8s::FilterResult& result) const;
  void drop_failing(std::size_t i, k8s::FilterResult& result) const;
  k8s::FilterResult empty_result() const;

  const Rules rules_;
  const std::string no_label_, another_preferred_;  // the reasons that answers give
  json::Parser parser_;
  std::string body_;
  k8s::Candidates args_;
  std::vector<Candidate> candidates_;
};

/// Bodies with an end of line, as the original writes them.
std::string filter_error(std::string_view error);
inline constexpr std::string_view kNoScores = "[]\n";

}  // namespace tessera::label_priority
