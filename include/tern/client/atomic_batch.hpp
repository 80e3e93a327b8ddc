/// Several messages that a stream stores together or not at all, with consecutive sequences.
///
///     atomic_batch transfer(js);
///     transfer.add("accounts.a", R"({"amount":-5})");
///     transfer.add("accounts.b", R"({"amount":5})", publish_options().expect_last_subject_sequence(7));
///     auto ack = transfer.commit().get();                  // pub_ack::seq is that of the last one
///
/// Messages go out as they are added; the stream shows none of them before the commit. Expectations are checked at the
/// commit: one that fails refuses the whole batch (errc::wrong_last_sequence, errc::api_error). An uncommitted batch is
/// forgotten by the server after 10 s. The stream needs allow_atomic; at most 1000 messages. One batch, one commit.
/// Thread safety: one thread at a time. Source: jetstream 5.10.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tern/client/jetstream.hpp>

namespace tern::client {

class atomic_batch {
 public:
  explicit atomic_batch(const jetstream& js);
  atomic_batch(atomic_batch&&) = default;
  atomic_batch& operator=(atomic_batch&&) = default;
  ~atomic_batch() = default;

  /// Sent now, without waiting. errc::limit_exceeded at 1000, errc::closed after commit(); what publish() refuses too.
  result<void> add(std::string_view subject, std::string_view payload, const publish_options& with = {});
  /// Adds the last message and commits.
  operation<pub_ack> commit(std::string_view subject, std::string_view payload, const publish_options& with = {});
  /// Commits what was added. errc::invalid_argument for an empty batch.
  operation<pub_ack> commit();

  const std::string& id() const { return id_; }
  std::uint64_t size() const { return count_; }

 private:
  publish_options numbered(const publish_options& with) const;

  jetstream js_;
  std::string id_;
  std::string last_subject_;  // where the commit goes
  std::uint64_t count_ = 0;
  bool committed_ = false;
};

}  // namespace tern::client
