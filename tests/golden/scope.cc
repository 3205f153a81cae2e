#include "scope.h"

#include <algorithm>
#include <fstream>

namespace tessera::golden {
namespace {

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

bool truthy(const std::string& word) {
  return word == "1" || word == "t" || word == "T" || word == "true" || word == "TRUE" ||
         word == "True";
}

}  // namespace

std::vector<std::string> needs(const nlohmann::json& scenario) {
  std::vector<std::string> out;
  const nlohmann::json& pod = scenario["pod"];
  const nlohmann::json& annotations = pod["annotations"];
  if (!pod["init"].empty()) out.push_back("init-containers");
  const std::string policy = annotations.value("hami.io/gpu-scheduler-policy", "");
  if (has_word(policy, "mutex")) out.push_back("mutex-policy");
  if (has_word(policy, "numa")) out.push_back("numa-policy");
  if (has_word(policy, "topology-aware")) out.push_back("topology-policy");
  if (truthy(annotations.value("nvidia.com/numa-bind", ""))) out.push_back("numa-bind");
  if (annotations.contains("nvidia.com/vgpu-mode")) out.push_back("vgpu-mode");
  if (annotations.contains("hami.io/device-scoring-weights")) out.push_back("weights");
  bool mig = false;
  for (const nlohmann::json& node : scenario["nodes"]) {
    const std::string text = node["annotations"].value("hami.io/node-nvidia-register", "");
    mig = mig || text.find("\"mode\": \"mig\"") != std::string::npos ||
          text.find("\"mode\":\"mig\"") != std::string::npos;
  }
  if (mig) out.push_back("mig");
  return out;
}

std::string scope_words(const nlohmann::json& scenario) {
  const auto list = needs(scenario);
  if (list.empty()) return "counted";
  std::string out;
  for (const std::string& need : list) out += (out.empty() ? "" : " ") + need;
  return out;
}

std::map<std::string, std::string> committed_scope() {
  std::map<std::string, std::string> out;
  std::ifstream in(TESSERA_SOURCE_DIR "/tests/golden/nvidia_scope.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = line.find(' ');
    out[line.substr(0, blank)] = blank == std::string::npos ? "" : line.substr(blank + 1);
  }
  return out;
}

}  // namespace tessera::golden
