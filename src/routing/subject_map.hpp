// The mappings of an account: what a client publishes on one subject may be routed by another, by weights (core 7.1).
// Made once from a configuration, then only read; one shard.
#pragma once

#include "routing/subject_transform.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tern::routing {

struct mapping {
  struct destination {
    std::string subject;
    int weight = 100;     // percent
    std::string cluster;  // only there; empty: where no other of its source is for this cluster
    friend bool operator==(const destination&, const destination&) = default;
  };
  std::string source;
  std::vector<destination> destinations;
  friend bool operator==(const mapping&, const mapping&) = default;
};

class subject_map {
 public:
  // The error is the peer's text.
  static std::expected<subject_map, std::string> create(const std::vector<mapping>& mappings);

  bool empty() const { return entries_.empty(); }
  enum class outcome { unchanged, mapped, lost };
  // Writes the new subject when it is mapped. `random` decides by weight; lost: the weights leave this message out.
  outcome map(std::string_view subject, std::uint64_t random, std::string& out) const;
  const std::vector<mapping>& mappings() const { return mappings_; }

 private:
  struct choice {
    subject_transform transform;
    int up_to;  // of 100
  };
  struct entry {
    std::string source;
    std::vector<choice> choices;
    bool rest_unchanged = false;  // the source is not among its own destinations
  };
  std::vector<entry> entries_;
  std::vector<mapping> mappings_;
};

}  // namespace tern::routing
