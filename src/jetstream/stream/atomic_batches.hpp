// The atomic batches that publishers have begun on one stream and not committed: copies of their messages, bounded in
// number, size and time (jetstream 5.10). Owned by the stream; one thread.
#pragma once

#include <tern/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

inline constexpr std::size_t batch_id_size_max = 64;

struct batched_message {
  std::string subject, headers, payload;
};

struct atomic_batch {
  std::vector<batched_message> messages;  // sequence n stands at n - 1
  std::size_t bytes = 0;
  time_point last_seen{};
};

class atomic_batches {
 public:
  bool empty() const { return open_.empty(); }
  std::size_t size() const { return open_.size(); }
  std::size_t bytes() const { return bytes_; }  // of all messages that wait

  atomic_batch* find(std::string_view id);
  atomic_batch& begin(std::string_view id);
  void add(atomic_batch& to, batched_message what, time_point now);
  atomic_batch take(std::string_view id);  // out of the table
  std::optional<time_point> oldest() const;
  // Ids of batches that nobody continued since `before`.
  std::vector<std::string> idle_since(time_point before) const;

 private:
  std::map<std::string, atomic_batch, std::less<>> open_;
  std::size_t bytes_ = 0;
};

}  // namespace tern::jetstream
