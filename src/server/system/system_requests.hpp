// What the system account's services answer (core 6): pure functions of the server and of a request's body.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tern::server {

class server;
class connection;

struct service_answer {
  enum class kind : std::uint8_t {
    silent,   // nothing is sent
    data,     // the envelope with `text`, a JSON value, under "data"
    done,     // the envelope alone
    failed,   // the envelope with an error and `"data":null`
    invalid,  // the envelope with an error alone: the request itself is at fault
    bare,     // `text` as it is
  };
  kind what = kind::silent;
  int code = 0;  // of an error
  std::string text;

  static service_answer silent() { return {}; }
  static service_answer with_data(std::string json) { return {.what = kind::data, .text = std::move(json)}; }
  static service_answer failure(std::string why) { return {.what = kind::failed, .code = 500, .text = std::move(why)}; }
  static service_answer refusal(std::string why) {
    return {.what = kind::invalid, .code = 500, .text = std::move(why)};
  }
  static service_answer bad_request(std::string why) {
    return {.what = kind::invalid, .code = 400, .text = std::move(why)};
  }
};

// One of `$SYS.REQ.SERVER.PING.<name>` and `$SYS.REQ.SERVER.<id>.<name>`.
struct server_service {
  std::string_view name;
  service_answer (*answer)(server& from, std::string_view body);
  bool by_id_only = false;  // it changes something
};
std::span<const server_service> server_services();

// One of `$SYS.REQ.ACCOUNT.<account>.<name>`; `account` is PING for all where the peer has that.
struct account_service {
  std::string_view name;
  service_answer (*answer)(server& from, std::string_view account, std::string_view body);
};
std::span<const account_service> account_services();

// `$SYS.REQ.ACCOUNT.NSUBS` and `$SYS.DEBUG.SUBSCRIBERS`: how many take a message.
service_answer count_subscribers_of(server& from, std::string_view body);
service_answer count_system_subscribers(server& from, std::string_view body);
// What stands under "statsz".
std::string statsz_object(server& from);

}  // namespace tern::server
