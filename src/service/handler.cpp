#include <tern/service/handler.hpp>

#include <boost/system/system_error.hpp>

#include <exception>

namespace tern::service::detail {

void note_exception(handled& made) noexcept {
  made.replies.clear();
  made.how = handled_how::threw;
  try {
    throw;
  } catch (const boost::system::system_error& problem) {
    if (problem.code() == boost::asio::error::operation_aborted) made.how = handled_how::cancelled;
    made.error = problem.what();
  } catch (const std::exception& problem) {
    made.error = problem.what();
  } catch (...) {
    made.error = "something that is no std::exception";
  }
}

namespace {

bool read_number(const codec::value_type& type, void* object, std::string_view text) {
  const auto parse = [&]<class T>(T) {
    T value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return false;
    *static_cast<T*>(object) = value;
    return true;
  };
  switch (type.kind) {
    case codec::value_kind::int8:
      return parse(std::int8_t{});
    case codec::value_kind::int16:
      return parse(std::int16_t{});
    case codec::value_kind::int32:
      return parse(std::int32_t{});
    case codec::value_kind::int64:
      return parse(std::int64_t{});
    case codec::value_kind::uint8:
      return parse(std::uint8_t{});
    case codec::value_kind::uint16:
      return parse(std::uint16_t{});
    case codec::value_kind::uint32:
      return parse(std::uint32_t{});
    case codec::value_kind::uint64:
      return parse(std::uint64_t{});
    case codec::value_kind::float32:
      return parse(float{});
    case codec::value_kind::float64:
      return parse(double{});
    default:
      return false;
  }
}

bool read_text(const codec::value_type& type, void* object, std::string_view text) {
  switch (type.kind) {
    case codec::value_kind::text:
      static_cast<std::string*>(object)->assign(text);
      return true;
    case codec::value_kind::boolean:
      if (text != "true" && text != "false") return false;
      *static_cast<bool*>(object) = text == "true";
      return true;
    case codec::value_kind::enumeration:
      for (const auto& [value, word] : type.enumeration->words) {
        if (word == text) return type.enumeration->set(object, value), true;
      }
      return false;
    case codec::value_kind::optional:
      return read_text(*type.element, type.optional->emplace(object), text);
    default:
      return read_number(type, object, text);
  }
}

}  // namespace

bool read_header_record(const codec::value_type& type, void* object, context& delivery, std::string& problem) {
  if (type.kind != codec::value_kind::record) {
    problem = "a header contract is a flat record";
    return false;
  }
  for (const codec::member_type& member : type.record().members) {
    const auto value = delivery.header(member.name);
    if (!value) {
      if (member.type->kind == codec::value_kind::optional) continue;
      problem = "header " + std::string(member.name) + " is missing";
      return false;
    }
    if (!read_text(*member.type, static_cast<char*>(object) + member.offset, *value)) {
      problem = "header " + std::string(member.name) + " cannot be read: " + std::string(*value);
      return false;
    }
  }
  return true;
}

}  // namespace tern::service::detail
