/// Appends JSON to a string. Commas are placed by the writer; escaping follows Go's encoder (<, >,
/// & as \u003c …) so that texts compare equal with HAMi's. Invalid UTF-8 becomes U+FFFD.
///   Writer w; w.begin_object().key("Error").string("").end_object(); std::string s =
///   std::move(w).take();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::json {

/// For long lists of one shape, whose writer knows where commas belong.
void append_string(std::string& out, std::string_view s);
void append_integer(std::string& out, std::int64_t v);

class Writer {
 public:
  Writer() = default;
  /// Into memory that was used before; what stands in it goes.
  explicit Writer(std::string&& used) : out_(std::move(used)) { out_.clear(); }
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view k);
  Writer& string(std::string_view s);
  Writer& integer(std::int64_t v);
  Writer& number(double v);
  Writer& boolean(bool v);
  Writer& null();
  Writer& raw(std::string_view json);  ///< already valid JSON
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  const std::string& text() const { return out_; }
  std::string take() && { return std::move(out_); }

 private:
  void separate();
  std::string out_;
  bool need_comma_ = false;
};

}  // namespace tessera::json
