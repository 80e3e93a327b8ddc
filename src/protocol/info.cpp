#include "protocol/info.hpp"

#include <tern/codec/json.hpp>

#include "protocol/writer.hpp"

namespace tern::protocol {

void append_info(std::string& out, const server_info& info) {
  out += "INFO ";
  codec::write_json(out, info);
  out += " \r\n";
}

result<server_info> read_info(std::string_view json) {
  return codec::read_json<server_info>(json, codec::peer_lenient);
}

}  // namespace tern::protocol
