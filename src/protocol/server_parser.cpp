#include "protocol/server_parser.hpp"

namespace tern::protocol {

parse_outcome server_parser::publish_fault(const input& in, std::string_view line, bool with_header) {
  const arguments found(line);
  const std::size_t sizes = with_header ? 2 : 1;
  std::string reason = with_header ? "processHeaderPub " : "processPub ";
  if (line.find('\r') != std::string_view::npos || (found.count != 1 + sizes && found.count != 2 + sizes)) {
    reason += "Parse Error";
  } else if (std::size_t size = 0; with_header && !parse_size(found.values[found.count - 2], size)) {
    reason += "Bad or Missing Header Size";
  } else if (!parse_size(found.values[found.count - 1], size)) {
    reason += with_header ? "Bad or Missing Total Size" : "Bad or Missing Size";
  } else {
    reason += "Header Size larger then TotalSize";  // the peer's spelling
  }
  return bad_argument(in, reason, line);
}

}  // namespace tern::protocol
