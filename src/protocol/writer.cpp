#include "protocol/writer.hpp"

namespace tern::protocol {
namespace {

// Letters and digits of the world are shown; separators and format characters are not.
bool is_printable(std::uint32_t rune) {
  return !(rune < 0xA1 || rune == 0xAD || (rune >= 0x2000 && rune <= 0x200F) || (rune >= 0x2028 && rune <= 0x202F) ||
           (rune >= 0x205F && rune <= 0x206F) || rune == 0x3000 || rune == 0xFEFF ||
           (rune >= 0xE000 && rune <= 0xF8FF) || (rune & 0xFFFE) == 0xFFFE || rune >= 0xE0000);
}

// Decodes the sequence at the begin of the text; its length, or 0 when it is malformed.
std::size_t decode_rune(std::string_view text, std::uint32_t& rune) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(0);
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  rune = first & (0x7Fu >> length);
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return 0;
    rune = rune << 6 | (byte(index) & 0x3Fu);
  }
  if (length == 3 && (rune < 0x800 || (rune >= 0xD800 && rune < 0xE000))) return 0;
  if (length == 4 && (rune < 0x10000 || rune > 0x10FFFF)) return 0;
  return length;
}

void append_hexadecimal(std::string& out, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

char short_escape(char letter) {
  switch (letter) {
    case '\a':
      return 'a';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    case '"':
      return '"';
    case '\\':
      return '\\';
    default:
      return 0;
  }
}

}  // namespace

void append_message_line(std::string& out, std::string_view subject, std::string_view sid, std::string_view reply,
                         std::size_t size) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + message_line_size_max(subject, sid, reply), [&](char* bytes, std::size_t) {
    return static_cast<std::size_t>(put_message_line(bytes + before, subject, sid, reply, size) - bytes);
  });
}

void append_header_message_line(std::string& out, std::string_view subject, std::string_view sid,
                                std::string_view reply, std::size_t header_size, std::size_t total_size) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + message_line_size_max(subject, sid, reply), [&](char* bytes, std::size_t) {
    return static_cast<std::size_t>(
        put_header_message_line(bytes + before, subject, sid, reply, header_size, total_size) - bytes);
  });
}

void append_message(std::string& out, std::string_view subject, std::string_view sid, std::string_view reply,
                    std::string_view header, std::string_view payload) {
  if (header.empty()) {
    append_message_line(out, subject, sid, reply, payload.size());
  } else {
    append_header_message_line(out, subject, sid, reply, header.size(), header.size() + payload.size());
  }
  out.append(header).append(payload).append(crlf);
}

void append_publish(std::string& out, std::string_view subject, std::string_view reply, std::string_view header,
                    std::string_view payload) {
  out.append(header.empty() ? "PUB " : "HPUB ").append(subject).append(1, ' ');
  if (!reply.empty()) out.append(reply).append(1, ' ');
  if (!header.empty()) {
    append_decimal(out, header.size());
    out += ' ';
  }
  append_decimal(out, header.size() + payload.size());
  out.append(crlf).append(header).append(payload).append(crlf);
}

void append_subscribe(std::string& out, std::string_view subject, std::string_view queue, std::string_view sid) {
  out.append("SUB ").append(subject).append(1, ' ');
  if (!queue.empty()) out.append(queue).append(1, ' ');
  out.append(sid).append(crlf);
}

void append_subscribe(std::string& out, std::string_view subject, std::string_view queue, std::uint64_t sid) {
  char digits[decimal_digits_max];
  append_subscribe(out, subject, queue, std::string_view(digits, put_decimal(digits, sid)));
}

void append_unsubscribe(std::string& out, std::string_view sid, std::uint64_t max) {
  out.append("UNSUB ").append(sid);
  if (max != 0) {
    out += ' ';
    append_decimal(out, max);
  }
  out.append(crlf);
}

void append_unsubscribe(std::string& out, std::uint64_t sid, std::uint64_t max) {
  char digits[decimal_digits_max];
  append_unsubscribe(out, std::string_view(digits, put_decimal(digits, sid)), max);
}

void append_connect(std::string& out, std::string_view json) { out.append("CONNECT ").append(json).append(crlf); }

void append_info(std::string& out, std::string_view json) { out.append("INFO ").append(json).append(" \r\n"); }

void append_error(std::string& out, std::string_view text) { out.append("-ERR '").append(text).append("'\r\n"); }

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char letter = text.front();
    const auto value = static_cast<unsigned char>(letter);
    std::size_t length = 1;
    if (const char escape = short_escape(letter); escape != 0) {
      out.append(1, '\\').append(1, escape);
    } else if (value >= 0x20 && value < 0x7F) {
      out += letter;
    } else if (std::uint32_t rune = 0; value < 0x80 || (length = decode_rune(text, rune)) == 0) {
      length = 1;
      out += "\\x";
      append_hexadecimal(out, value, 2);
    } else if (is_printable(rune)) {
      out.append(text, 0, length);
    } else {
      out += rune > 0xFFFF ? "\\U" : "\\u";
      append_hexadecimal(out, rune, rune > 0xFFFF ? 8 : 4);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace tern::protocol
