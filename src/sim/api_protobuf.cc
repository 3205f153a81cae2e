#include "sim/api_protobuf.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"

namespace tessera::sim::api {
namespace {

enum class Form : std::uint8_t {
  kText,
  kBytes,
  kNumber,
  kFlag,
  kTexts,
  kMessage,
  kTextMap,
  kBytesMap,
  kQuantityMap
};

struct Field;
struct Message {
  std::span<const Field> fields;
};
struct Field {
  unsigned number;
  std::string_view name;
  Form form;
  const Message* message = nullptr;  ///< of kMessage
};

// Field numbers as in the generated.proto files of k8s.io/api and apimachinery.
constexpr Field kMetadataFields[] = {
    {1, "name", Form::kText},
    {2, "generateName", Form::kText},
    {3, "namespace", Form::kText},
    {5, "uid", Form::kText},
    {6, "resourceVersion", Form::kText},
    {11, "labels", Form::kTextMap},
    {12, "annotations", Form::kTextMap},
    {14, "finalizers", Form::kTexts},
};
constexpr Message kMetadata{kMetadataFields};
constexpr Field kNamespaceFields[] = {{1, "metadata", Form::kMessage, &kMetadata}};
constexpr Field kQuotaSpecFields[] = {{1, "hard", Form::kQuantityMap}, {2, "scopes", Form::kTexts}};
constexpr Message kQuotaSpec{kQuotaSpecFields};
constexpr Field kQuotaFields[] = {{1, "metadata", Form::kMessage, &kMetadata},
                                  {2, "spec", Form::kMessage, &kQuotaSpec}};
constexpr Field kConfigMapFields[] = {{1, "metadata", Form::kMessage, &kMetadata},
                                      {2, "data", Form::kTextMap},
                                      {3, "binaryData", Form::kBytesMap}};
constexpr Field kSecretFields[] = {{1, "metadata", Form::kMessage, &kMetadata},
                                   {2, "data", Form::kBytesMap},
                                   {3, "type", Form::kText}};
constexpr Field kServiceAccountFields[] = {{1, "metadata", Form::kMessage, &kMetadata}};
constexpr Field kPriorityClassFields[] = {{1, "metadata", Form::kMessage, &kMetadata},
                                          {2, "value", Form::kNumber},
                                          {3, "globalDefault", Form::kFlag},
                                          {4, "description", Form::kText},
                                          {5, "preemptionPolicy", Form::kText}};
constexpr Field kPreconditionFields[] = {{1, "uid", Form::kText},
                                         {2, "resourceVersion", Form::kText}};
constexpr Message kPreconditions{kPreconditionFields};
constexpr Field kDeleteOptionFields[] = {{1, "gracePeriodSeconds", Form::kNumber},
                                         {2, "preconditions", Form::kMessage, &kPreconditions},
                                         {4, "propagationPolicy", Form::kText},
                                         {5, "dryRun", Form::kTexts}};
constexpr Message kDeleteOptions{kDeleteOptionFields};
constexpr Field kEvictionFields[] = {{1, "metadata", Form::kMessage, &kMetadata},
                                     {2, "deleteOptions", Form::kMessage, &kDeleteOptions}};

struct Kind {
  std::string_view name;
  Message message;
};
constexpr Kind kKinds[] = {
    {"Namespace", {kNamespaceFields}},           {"ResourceQuota", {kQuotaFields}},
    {"ConfigMap", {kConfigMapFields}},           {"Secret", {kSecretFields}},
    {"ServiceAccount", {kServiceAccountFields}}, {"PriorityClass", {kPriorityClassFields}},
    {"DeleteOptions", {kDeleteOptionFields}},    {"Eviction", {kEvictionFields}},
};

constexpr Field kTypeFields[] = {{1, "apiVersion", Form::kText}, {2, "kind", Form::kText}};
constexpr Message kType{kTypeFields};
constexpr Field kEnvelopeFields[] = {{1, "type", Form::kMessage, &kType}, {2, "raw", Form::kBytes}};
constexpr Field kQuantityFields[] = {{1, "text", Form::kText}};
constexpr std::string_view kMagic{"k8s\0", 4};

/// One field on the wire: its number and either a number or a run of bytes.
struct WireField {
  unsigned number = 0;
  bool delimited = false;
  std::uint64_t value = 0;
  std::string_view bytes;
};

class WireReader {
 public:
  explicit WireReader(std::string_view rest) : rest_(rest) {}
  bool done() const { return rest_.empty(); }
  std::optional<WireField> next() {
    const auto key = varint();
    if (!key) return std::nullopt;
    WireField field{.number = static_cast<unsigned>(*key >> 3)};
    const auto size = fixed_size(*key & 7, field);
    if (!size || *size > rest_.size()) return std::nullopt;
    field.bytes = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return field;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  /// How many bytes follow for this wire type; numbers are read here.
  std::optional<std::uint64_t> fixed_size(std::uint64_t wire_type, WireField& field) {
    if (wire_type == 1) return 8;
    if (wire_type == 5) return 4;
    if (wire_type > 2) return std::nullopt;
    const auto number = varint();
    if (!number) return std::nullopt;
    field.delimited = wire_type == 2;
    if (field.delimited) return number;
    field.value = *number;
    return 0;
  }

  std::string_view rest_;
};

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = text::utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

tl::unexpected<Error> malformed(std::string_view where) {
  return fail(Code::kInvalid, fmt::format("protobuf body: {} is not well-formed", where));
}

Status take_field(Value& object, const Field& field, const WireField& wire);

Result<Value> read_message(const Message& message, std::string_view bytes, std::string_view name) {
  Value object = Value::object();
  WireReader reader(bytes);
  while (!reader.done()) {
    const auto wire = reader.next();
    if (!wire) return malformed(name);
    for (const Field& field : message.fields) {
      if (field.number != wire->number) continue;
      if (auto done = take_field(object, field, *wire); !done) return tl::unexpected(done.error());
    }
  }
  return object;
}

/// An entry of a map is a message of its own: 1 = key, 2 = value.
Status take_entry(Value& map, const Field& field, std::string_view bytes) {
  static constexpr Field kEntryFields[] = {{1, "key", Form::kText}, {2, "value", Form::kBytes}};
  const auto entry = read_message({kEntryFields}, bytes, field.name);
  if (!entry) return tl::unexpected(entry.error());
  std::string value = (*entry)["value"].text();
  if (field.form == Form::kBytesMap) value = text::base64_encode(value);
  if (field.form == Form::kQuantityMap) {
    const auto quantity = read_message({kQuantityFields}, value, field.name);
    if (!quantity) return tl::unexpected(quantity.error());
    value = (*quantity)["text"].text();
  }
  if (!valid_utf8(value)) return malformed(field.name);
  map.make((*entry)["key"].text()) = std::move(value);
  return {};
}

Status take_field(Value& object, const Field& field, const WireField& wire) {
  const bool number = field.form == Form::kNumber || field.form == Form::kFlag;
  if (number == wire.delimited) return malformed(field.name);
  switch (field.form) {
    case Form::kNumber:
      object.make(field.name) = static_cast<std::int64_t>(wire.value);
      break;
    case Form::kFlag:
      object.make(field.name) = wire.value != 0;
      break;
    case Form::kText:
      if (!valid_utf8(wire.bytes)) return malformed(field.name);
      // the encoder writes empty texts, which JSON leaves out
      if (!wire.bytes.empty()) object.make(field.name) = wire.bytes;
      break;
    case Form::kBytes:
      object.make(field.name) = wire.bytes;
      break;
    case Form::kTexts:
      if (!valid_utf8(wire.bytes)) return malformed(field.name);
      object.make(field.name).items().emplace_back(wire.bytes);
      break;
    case Form::kMessage: {
      auto message = read_message(*field.message, wire.bytes, field.name);
      if (!message) return tl::unexpected(message.error());
      object.make(field.name) = std::move(*message);
      break;
    }
    case Form::kTextMap:
    case Form::kBytesMap:
    case Form::kQuantityMap: {
      Value& map = object.make(field.name);
      map.members();
      return take_entry(map, field, wire.bytes);
    }
  }
  return {};
}

}  // namespace

Result<Value> decode_protobuf(std::string_view body) {
  if (!body.starts_with(kMagic)) return malformed("the envelope");
  const auto envelope = read_message({kEnvelopeFields}, body.substr(kMagic.size()), "the envelope");
  if (!envelope) return tl::unexpected(envelope.error());
  const Value& type = (*envelope)["type"];
  for (const Kind& kind : kKinds) {
    if (kind.name != type["kind"].text()) continue;
    auto object = read_message(kind.message, (*envelope)["raw"].text(), kind.name);
    if (!object) return object;
    object->make("kind") = type["kind"];
    object->make("apiVersion") = type["apiVersion"];
    return object;
  }
  return fail(Code::kUnavailable,
              fmt::format("kind {} is not understood as protobuf, send JSON", type["kind"].text()));
}

}  // namespace tessera::sim::api
