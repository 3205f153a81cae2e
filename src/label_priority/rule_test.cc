// The rule alone: who passes, who is best, who gets how many points.
#include "label_priority/rule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::label_priority {
namespace {

/// "a=10" has the label, "a" has none, "a=high" an invalid one, "a?" is known to nobody.
struct Nodes {
  explicit Nodes(std::string_view text) {
    while (!text.empty()) {
      const std::size_t blank = std::min(text.find(' '), text.size());
      add(std::string(text.substr(0, blank)));
      text.remove_prefix(std::min(blank + 1, text.size()));
    }
    for (std::size_t i = 0; i < names.size(); ++i) candidates.push_back({names[i], labels[i]});
  }
  void add(const std::string& word) {
    const std::size_t equals = word.find('=');
    const bool unknown = word.ends_with('?');
    names.push_back(word.substr(0, std::min(equals, word.size() - (unknown ? 1 : 0))));
    if (unknown) {
      labels.push_back({LabelState::kUnknownNode, 0});
    } else if (equals == std::string::npos) {
      labels.push_back(read_label(nullptr));
    } else {
      const std::string value = word.substr(equals + 1);
      labels.push_back(read_label(&value));
    }
  }
  std::vector<std::string> names;
  std::vector<NodeLabel> labels;
  std::vector<Candidate> candidates;
};

std::string passing(std::string_view text, const Rules& rules) {
  const Nodes nodes(text);
  std::string out;
  for (const Candidate& c : nodes.candidates)
    if (passes(c, rules)) out += std::string(c.name) + " ";
  return out;
}

std::string best(std::string_view text, const Rules& rules) {
  const Nodes nodes(text);
  const auto found = best_of(nodes.candidates, rules);
  return found ? nodes.names[*found] : "none";
}

std::string points(std::string_view text, const Rules& rules) {
  const Nodes nodes(text);
  std::string out;
  for (const Scored& s : scores_of(nodes.candidates, rules))
    out += nodes.names[s.candidate] + ":" + std::to_string(s.score) + " ";
  return out;
}

constexpr bool kOriginal = true;
Rules plain(bool compat = false) {
  Rules rules;
  rules.compat = compat;
  return rules;
}
Rules optional_label() {
  Rules rules;
  rules.label_required = false;
  return rules;
}
Rules normalised(bool required = true) {
  Rules rules;
  rules.normalised = true;
  rules.label_required = required;
  return rules;
}
Rules weighing(std::int64_t weight) {
  Rules rules;
  rules.weight = weight;
  return rules;
}

TEST(Rule, WhoHasTheLabelPassesWhateverItsValue) {
  EXPECT_EQ(passing("a=10 b c= d=high e?", plain()), "a c d ");
  EXPECT_EQ(passing("a=10 b c= d=high e?", plain(kOriginal)), "a c d ");
  EXPECT_EQ(passing("a=10 b c= d=high e?", optional_label()), "a b c d e ");
  EXPECT_EQ(passing("", plain()), "");
}

struct BestCase {
  std::string_view name, nodes, ours, original;
};

TEST(Rule, TheBest) {
  const BestCase cases[] = {
      {"nobody", "", "none", "none"},
      {"nobody has the label", "a b", "none", "none"},
      {"one", "a b=1", "b", "b"},
      {"the largest number", "a=1 b=20 c=3", "b", "b"},
      {"numbers, not texts", "a=9 b=10", "b", "b"},
      {"an invalid value is 0", "a=high b=1 c=-1", "b", "b"},
      {"an invalid value before a negative one", "a=-1 b=high", "b", "b"},
      {"equal ones: the lowest name, there the last", "b=5 a=5 c=5", "a", "c"},
      {"equal ones behind a better one", "c=7 b=5 a=5", "c", "c"},
      {"twelve equal ones", "l=1 k=1 j=1 i=1 h=1 g=1 f=1 e=1 d=1 c=1 a=1 b=1", "a", "b"},
  };
  for (const BestCase& c : cases) {
    EXPECT_EQ(best(c.nodes, plain()), c.ours) << c.name;
    EXPECT_EQ(best(c.nodes, plain(kOriginal)), c.original) << c.name;
  }
  EXPECT_EQ(best("b a", optional_label()), "a");
  EXPECT_EQ(best("b a=-1", optional_label()), "b") << "no label counts as 0";
}

struct PointsCase {
  std::string_view name, nodes, want;
  Rules rules;
};

TEST(Rule, Points) {
  const PointsCase cases[] = {
      {"raw, in the order of the request", "b=20 a=10 c", "b:20 a:10 ", plain()},
      {"an invalid value gets 0", "a=high b=5", "a:0 b:5 ", plain()},
      {"the original leaves it out", "a=high b=5", "b:5 ", plain(kOriginal)},
      {"no label, not required", "a b=5", "a:0 b:5 ", optional_label()},
      {"above 10", "a=50 b=-7", "a:50 b:-7 ", plain()},
      {"the limits", "a=9223372036854775807 b=-9223372036854775808",
       "a:9223372036854775 b:-9223372036854775 ", plain()},
      {"narrower for a weight", "a=9223372036854775807 b=7", "a:92233720368547 b:7 ",
       weighing(100)},
      {"the original has none", "a=9223372036854775807 b=-9223372036854775808",
       "a:9223372036854775807 b:-9223372036854775808 ", plain(kOriginal)},
      {"normalised", "a=20 b=10 c=5 d=1", "a:10 b:5 c:2 d:0 ", normalised()},
      {"normalised, one alone", "a=3", "a:10 ", normalised()},
      {"normalised, equal ones", "a=7 b=7", "a:10 b:10 ", normalised()},
      {"normalised, invalid and negative", "a=20 b=high c=-5", "a:10 b:0 c:0 ", normalised()},
      {"normalised, all below 0", "a=-5 b=-9", "a:10 b:0 ", normalised()},
      {"normalised, all 0", "a=0 b=high", "a:10 b:10 ", normalised()},
      {"normalised, not required", "a b=4 c=2", "a:0 b:10 c:5 ", normalised(false)},
      {"normalised, the largest numbers",
       "a=9223372036854775807 b=4611686018427387904 c=-9223372036854775808", "a:10 b:5 c:0 ",
       normalised()},
      {"nobody", "", "", plain()},
  };
  for (const PointsCase& c : cases) EXPECT_EQ(points(c.nodes, c.rules), c.want) << c.name;
}

/// All over the range of 64 bits; it wraps on purpose.
std::int64_t scattered(std::int64_t number) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) * 0x0123'4567'89abU);
}

TEST(Rule, PropertiesOfPoints) {
  const auto property = [](const std::vector<std::int64_t>& numbers, std::int64_t seed) {
    std::vector<std::string> names;
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < numbers.size(); ++i) names.push_back("n" + std::to_string(i));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t far = i % 3 == 0 ? numbers[i] : scattered(numbers[i]);
      candidates.push_back({names[i], {LabelState::kNumber, far}});
    }
    for (const bool shares : {false, true}) {
      Rules rules = weighing(1 + (seed & 0xffff));
      rules.normalised = shares;
      const auto scored = scores_of(candidates, rules);
      RC_ASSERT(scored.size() == candidates.size());
      for (const Scored& a : scored) {
        if (shares) RC_ASSERT(a.score >= 0 && a.score <= 10);
        // What kube-scheduler makes of it, with room for a thousand extenders.
        RC_ASSERT(a.score <= INT64_MAX / 1000 / rules.weight);
        RC_ASSERT(a.score >= -(INT64_MAX / 1000 / rules.weight));
        for (const Scored& b : scored) {
          const bool before =
              candidates[a.candidate].label.priority < candidates[b.candidate].label.priority;
          RC_ASSERT(!before || a.score <= b.score);
        }
      }
    }
  };
  EXPECT_TRUE(rc::check("order is never reversed, and nothing overflows", property));
}

}  // namespace
}  // namespace tessera::label_priority
