// Any text is a configuration or an error; the reader of options takes any tree.
#include "server/config/config_parser.hpp"
#include "server/config/config_reader.hpp"
#include "server/config/reload_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const server::config_source source{
      // An include reads the text itself: the depth limit must end it.
      .read_file = [text](const std::string& path) -> result<std::string> {
        if (path.ends_with("self")) return std::string(text.substr(0, 200));
        return fail(errc::not_found, "open " + path + ": no such file or directory");
      },
      .environment = [text](const std::string& name) -> std::optional<std::string> {
        if (name == "TEXT") return std::string(text);
        return std::nullopt;
      },
  };
  if (const auto tree = server::parse_config(text, "fuzz.conf", source)) {
    (void)server::digest_of(*tree);
    server::options settings;
    (void)server::apply_config(*tree, settings);
    (void)server::check_options(settings);
    (void)server::plan_reload({}, settings, 4222);
  }
  return 0;
}
