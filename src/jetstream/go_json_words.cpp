#include "jetstream/go_json_words.hpp"

#include "base/ascii.hpp"
#include "base/numbers.hpp"

#include <tern/base/time.hpp>
#include <tern/codec/json.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tern::jetstream {
namespace {

using codec::json_kind;
using codec::value_kind;
using name_pair = std::pair<std::string_view, std::string_view>;

constexpr name_pair request_names[] = {
    {"stream_create_response", "StreamConfigRequest"},
    {"stream_update_response", "StreamConfigRequest"},
    {"stream_names_response", "JSApiStreamNamesRequest"},
    {"stream_list_response", "JSApiStreamListRequest"},
    {"stream_info_response", "JSApiStreamInfoRequest"},
    {"stream_purge_response", "JSApiStreamPurgeRequest"},
    {"stream_msg_get_response", "JSApiMsgGetRequest"},
    {"stream_msg_delete_response", "JSApiMsgDeleteRequest"},
    {"stream_snapshot_response", "JSApiStreamSnapshotRequest"},
    {"stream_restore_response", "JSApiStreamRestoreRequest"},
    {"consumer_create_response", "CreateConsumerRequest"},
    {"consumer_names_response", "JSApiConsumersRequest"},
    {"consumer_list_response", "JSApiConsumersRequest"},
    {"consumer_pause_response", "JSApiConsumerPauseRequest"},
    {"consumer_unpin_response", "JSApiConsumerUnpinRequest"},
};
// Records, by the member that holds them.
constexpr name_pair record_names[] = {
    {"config", "server.ConsumerConfig"},
    {"placement", "server.Placement"},
    {"mirror", "server.StreamSource"},
    {"sources", "[]*server.StreamSource"},
    {"external", "server.ExternalStream"},
    {"consumer", "server.StreamConsumerSource"},
    {"subject_transform", "server.SubjectTransformConfig"},
    {"subject_transforms", "[]server.SubjectTransformConfig"},
    {"republish", "server.RePublish"},
    {"consumer_limits", "server.StreamConsumerLimits"},
};
constexpr std::string_view long_members[] = {"max_msgs", "max_msgs_per_subject"};  // int64 there, others are int

std::string_view look_up(std::span<const name_pair> in, std::string_view key) {
  const auto found = std::ranges::find(in, key, &name_pair::first);
  return found == in.end() ? std::string_view() : found->second;
}

std::string_view word_for(json_kind kind) {
  switch (kind) {
    case json_kind::boolean:
      return "bool";
    case json_kind::number:
      return "number";
    case json_kind::string:
      return "string";
    case json_kind::array:
      return "array";
    case json_kind::object:
      return "object";
    case json_kind::null:
      break;
  }
  return "null";
}

// Looks for the first value that does not fit, as the peer does: in the order of the text.
class misfit_search {
 public:
  explicit misfit_search(std::string_view request) : request_(request) {}

  bool visit(codec::json_reader& reader, const codec::value_type& type) {
    // Null is an absent value, but no word of an enumeration.
    if (reader.kind() == json_kind::null && type.kind != value_kind::enumeration) return reader.skip();
    switch (type.kind) {
      case value_kind::optional:
        return visit(reader, *type.element);
      case value_kind::record:
        return visit_record(reader, type);
      case value_kind::sequence:
        return visit_sequence(reader, type);
      case value_kind::mapping:
        return visit_mapping(reader, type);
      case value_kind::enumeration:
        return visit_word(reader, type);
      case value_kind::time:
      case value_kind::custom:
        return visit_time(reader, type);
      case value_kind::boolean:
        return expect(reader, json_kind::boolean, type);
      case value_kind::text:
        return expect(reader, json_kind::string, type);
      case value_kind::int32:
        return visit_integer(reader, type, std::numeric_limits<std::int32_t>::min(),
                             std::numeric_limits<std::int32_t>::max());
      case value_kind::int64:
      case value_kind::duration:
        return visit_integer(reader, type, std::numeric_limits<std::int64_t>::min(),
                             std::numeric_limits<std::int64_t>::max());
      case value_kind::uint64:
        return visit_integer(reader, type, 0, std::numeric_limits<std::uint64_t>::max());
      default:
        return reader.skip();
    }
  }

  std::optional<std::string> found;

 private:
  bool expect(codec::json_reader& reader, json_kind kind, const codec::value_type& type) {
    if (reader.kind() == kind) return reader.skip();
    return tell(std::string(word_for(reader.kind())), type);
  }

  bool visit_record(codec::json_reader& reader, const codec::value_type& type) {
    if (reader.kind() != json_kind::object) return tell(std::string(word_for(reader.kind())), type);
    if (!reader.enter_object()) return false;
    const auto& members = type.record().members;
    std::string_view key;
    while (reader.next_key(key)) {
      const auto member = std::ranges::find_if(
          members, [key](const codec::member_type& one) { return equal_in_any_case(one.name, key); });
      if (member == members.end()) {
        if (!reader.skip()) return false;
        continue;
      }
      path_.emplace_back(member->name);
      if (!visit(reader, *member->type)) return false;
      path_.pop_back();
    }
    return !reader.failed();
  }

  bool visit_sequence(codec::json_reader& reader, const codec::value_type& type) {
    if (reader.kind() != json_kind::array) return tell(std::string(word_for(reader.kind())), type);
    if (!reader.enter_array()) return false;
    for (std::size_t index = 0; reader.next_element(); ++index) {
      path_.push_back(std::to_string(index));
      in_list_ = type.element->kind != value_kind::record;
      if (!visit(reader, *type.element)) return false;
      in_list_ = false;
      path_.pop_back();
    }
    return !reader.failed();
  }

  bool visit_mapping(codec::json_reader& reader, const codec::value_type& type) {
    if (reader.kind() != json_kind::object) return tell(std::string(word_for(reader.kind())), type);
    if (!reader.enter_object()) return false;
    std::string_view key;
    while (reader.next_key(key)) {
      path_.emplace_back(key);
      if (!visit(reader, *type.element)) return false;
      path_.pop_back();
    }
    return !reader.failed();
  }

  template <class Low, class High>
  bool visit_integer(codec::json_reader& reader, const codec::value_type& type, Low low, High high) {
    if (reader.kind() != json_kind::number) return tell(std::string(word_for(reader.kind())), type);
    std::string_view text;
    if (!reader.raw(text)) return false;
    const bool negative = text.starts_with('-');
    bool fits = false;
    if (const auto number = parse_signed_decimal(text); number && (negative || low < 0)) {
      fits = low < 0 && *number >= static_cast<std::int64_t>(low) && std::cmp_less_equal(*number, high);
    } else if (const auto magnitude = parse_decimal(text)) {
      fits = std::cmp_less_equal(*magnitude, high);
    }
    return fits || tell("number " + std::string(text), type);
  }

  bool visit_word(codec::json_reader& reader, const codec::value_type& type) {
    std::string_view raw;
    const bool is_text = reader.kind() == json_kind::string;
    if (!reader.raw(raw)) return false;
    const std::string_view inside = is_text && raw.size() >= 2 ? raw.substr(1, raw.size() - 2) : std::string_view();
    const auto& operations = *type.enumeration;
    const bool known = is_text && std::ranges::any_of(operations.words, [&](const codec::enum_word& one) {
                         return operations.ignore_case ? equal_in_any_case(one.word, inside) : one.word == inside;
                       });
    if (known) return true;
    const std::string_view member = path_.empty() ? std::string_view() : path_.back();
    if (member == "compression" && is_text) return conclude("unknown compression algorithm");
    if (member == "action") return conclude("unknown consumer action: " + std::string(raw));
    if (member == "priority_policy") return conclude("unknown priority policy: " + std::string(raw));
    std::string quoted;
    codec::write_json_string(quoted, raw);
    return conclude("can not unmarshal " + quoted);
  }

  bool visit_time(codec::json_reader& reader, const codec::value_type& type) {
    if (reader.kind() != json_kind::string) return tell(std::string(word_for(reader.kind())), type);
    std::string_view text;
    if (!reader.as_string(text)) return false;
    if (parse_rfc3339(text)) return true;
    const std::string quoted = "\"" + std::string(text) + "\"";
    return conclude("parsing time " + quoted + " as \"2006-01-02T15:04:05Z07:00\": cannot parse " + quoted +
                    " as \"2006\"");
  }

  std::string name_of(const codec::value_type& type) const {
    const std::string_view member = path_.empty() ? std::string_view() : path_.back();
    switch (type.kind) {
      case value_kind::boolean:
        return "bool";
      case value_kind::text:
        return "string";
      case value_kind::int32:
        return "int32";
      case value_kind::uint64:
        return "uint64";
      case value_kind::duration:
        return "time.Duration";
      case value_kind::time:
      case value_kind::custom:
        return "time.Time";
      case value_kind::mapping:
        return "map[string]string";
      case value_kind::int64: {
        const bool is_long = std::ranges::find(long_members, member) != std::end(long_members) ||
                             (member == "max_bytes" && path_.size() == 1);
        return is_long ? "int64" : "int";
      }
      case value_kind::sequence:
      case value_kind::record: {
        if (path_.empty()) return "server." + std::string(request_);
        if (const auto named = look_up(record_names, member); !named.empty()) return std::string(named);
        return type.element != nullptr && type.element->kind == value_kind::duration ? "[]time.Duration" : "[]string";
      }
      default:
        return "string";
    }
  }

  bool tell(const std::string& value, const codec::value_type& type) {
    std::string text = "json: cannot unmarshal " + value + " into ";
    if (path_.empty()) return conclude(text + "Go value of type " + name_of(type));
    if (!in_list_) text += "Go struct field ";
    text += request_;
    for (const std::string& step : path_) text += "." + step;
    return conclude(text + " of type " + name_of(type));
  }

  bool conclude(std::string text) {
    found = std::move(text);
    return false;
  }

  std::string_view request_;
  std::vector<std::string> path_;
  bool in_list_ = false;  // the value is an element itself, not a member of one
};

}  // namespace

std::optional<std::string> describe_misfit(std::string_view body, const codec::value_type& type,
                                           std::string_view response_type) {
  const std::string_view request = look_up(request_names, response_type);
  if (request.empty()) return std::nullopt;
  misfit_search search(request);
  const auto walked =
      codec::walk_json(body, [&](codec::json_reader& reader) { return search.visit(reader, type); }, {});
  if (walked) return std::nullopt;
  return std::move(search.found);
}

bool is_cut_json(std::string_view body) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char each = body[at];
    if (quoted && each == '\\') {
      ++at;
    } else if (each == '"') {
      quoted = !quoted;
    } else if (!quoted && (each == '{' || each == '[')) {
      ++depth;
    } else if (!quoted && (each == '}' || each == ']')) {
      --depth;
    }
  }
  return quoted || depth > 0;
}

}  // namespace tern::jetstream
