#include "runtime/host/time_zones.hpp"

#include <cctz/time_zone.h>

#include <chrono>
#include <string>

namespace tern::runtime::host {
namespace {

class known_zone final : public time_zone {
 public:
  explicit known_zone(cctz::time_zone zone) : zone_(zone) {}
  nanoseconds offset_at(time_point at) const override {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch());
    const std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds> when(seconds);
    return std::chrono::seconds(zone_.lookup(when).offset);
  }

 private:
  cctz::time_zone zone_;
};

}  // namespace

std::shared_ptr<const time_zone> find_time_zone(std::string_view name) {
  // Names are looked up as files below the zone directory: nothing that leads elsewhere is one.
  if (name.empty() || name.front() == '/' || name.find("..") != std::string_view::npos) return nullptr;
  if (name == "Local") return std::make_shared<known_zone>(cctz::local_time_zone());
  cctz::time_zone zone;
  if (!cctz::load_time_zone(std::string(name), &zone)) return nullptr;
  return std::make_shared<known_zone>(zone);
}

}  // namespace tern::runtime::host
