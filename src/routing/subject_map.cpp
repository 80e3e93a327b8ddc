#include "routing/subject_map.hpp"

#include "protocol/subject.hpp"

#include <algorithm>
#include <utility>

namespace tern::routing {

std::expected<subject_map, std::string> subject_map::create(const std::vector<mapping>& mappings) {
  subject_map out;
  out.mappings_ = mappings;
  for (const mapping& one : mappings) {
    const auto problem = [&one](const std::string& about, const std::string& text) {
      return std::unexpected("Error adding mapping for \"" + one.source + "\"" + about + " : " + text);
    };
    entry made{.source = one.source, .choices = {}};
    std::vector<std::string_view> seen;
    int total = 0;
    bool lists_source = false;
    for (const mapping::destination& to : one.destinations) {
      const std::string about = one.destinations.size() == 1 ? " to \"" + to.subject + "\"" : std::string();
      if (to.cluster.empty()) {
        if (std::ranges::find(seen, to.subject) != seen.end())
          return problem(about, "duplicate entry for \"" + to.subject + "\"");
        seen.push_back(to.subject);
      }
      auto transform = subject_transform::create(one.source, to.subject);
      if (!transform) return problem(about, transform.error());
      // Those of other clusters are checked and never chosen.
      if (!to.cluster.empty()) continue;
      lists_source |= to.subject == one.source;
      if ((total += to.weight) > 100) return problem(about, "total weight needs to be <= 100");
      made.choices.push_back({*std::move(transform), total});
    }
    made.rest_unchanged = !lists_source;
    out.entries_.push_back(std::move(made));
  }
  return out;
}

subject_map::outcome subject_map::map(std::string_view subject, std::uint64_t random, std::string& out) const {
  for (const entry& one : entries_) {
    if (!protocol::subject_matches(one.source, subject)) continue;
    const auto drawn = static_cast<int>(random % 100);
    for (const choice& to : one.choices) {
      if (drawn >= to.up_to) continue;
      out.clear();
      return to.transform.append_mapped(out, subject, random) ? outcome::mapped : outcome::unchanged;
    }
    return one.rest_unchanged ? outcome::unchanged : outcome::lost;
  }
  return outcome::unchanged;
}

}  // namespace tern::routing
