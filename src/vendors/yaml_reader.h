/// Reads typed values from a YAML tree by the rules of YAML 1.1 and collects what is wrong with
/// line, key and value. yaml-cpp stays behind this header. Source: spec/device-config.md section 2.
/// Thread rule: one reader per document.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vendors/config.h"

namespace YAML {
class Node;
}

namespace tessera::vendors {

class YamlReader {
 public:
  explicit YamlReader(ConfigResult& result) : result_(result) {}

  void fault(const YAML::Node& at, std::string key, std::string what);
  void note(const YAML::Node& at, std::string key, std::string what);

  /// null leaves the zero value everywhere.
  void string(const YAML::Node& node, const std::string& key, std::string& out);
  void strings(const YAML::Node& node, const std::string& key, std::vector<std::string>& out);
  void boolean(const YAML::Node& node, const std::string& key, bool& out);
  /// 0 to max; a fraction is cut towards zero.
  void integer(const YAML::Node& node, const std::string& key, std::int64_t max, std::int64_t& out);
  void real(const YAML::Node& node, const std::string& key);

  using Member =
      std::function<void(const std::string& name, const YAML::Node& at, const YAML::Node& value)>;
  /// Members in document order, of equal names the last one only. A node that is no mapping is a
  /// fault.
  void members(const YAML::Node& map, const std::string& path, const Member& f);
  using Element = std::function<void(const std::string& path, const YAML::Node& value)>;
  void elements(const YAML::Node& list, const std::string& path, const Element& f);

 private:
  /// False when the file is too big once its aliases are followed; says so once.
  bool visit(const YAML::Node& at);

  ConfigResult& result_;
  int visited_ = 0;
};

bool yaml_null(const YAML::Node& node);
/// Other than the zero value of its type.
bool yaml_says_something(const YAML::Node& node);
std::string yaml_path(const std::string& path, const std::string& key);

}  // namespace tessera::vendors
