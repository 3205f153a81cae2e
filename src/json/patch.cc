#include "json/patch.h"

#include "json/writer.h"

namespace tessera::json {
namespace {

Writer begin_operation(std::string_view name, std::string_view pointer) {
  Writer out;
  out.begin_object().key("op").string(name).key("path").string(pointer);
  return out;
}

}  // namespace

std::string escape_pointer(std::string_view token) {
  std::string out;
  for (char c : token) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void PatchBuilder::add(std::string_view pointer, std::string_view value) {
  Writer out = begin_operation("add", pointer);
  out.key("value").raw(value).end_object();
  operations_.push_back(std::move(out).take());
}

void PatchBuilder::replace(std::string_view pointer, std::string_view value) {
  Writer out = begin_operation("replace", pointer);
  out.key("value").raw(value).end_object();
  operations_.push_back(std::move(out).take());
}

void PatchBuilder::remove(std::string_view pointer) {
  Writer out = begin_operation("remove", pointer);
  out.end_object();
  operations_.push_back(std::move(out).take());
}

std::string PatchBuilder::text() const {
  Writer out;
  out.begin_array();
  for (const std::string& operation : operations_) out.raw(operation);
  out.end_array();
  return std::move(out).take();
}

std::string quoted(std::string_view s) {
  Writer out;
  out.string(s);
  return std::move(out).take();
}

}  // namespace tessera::json
