// The seam between a stream and its consumers: what each tells the other. A stream implements stream_context and owns
// one consumer_set; nothing else crosses.
#pragma once

#include "jetstream/environment.hpp"
#include "jetstream/stream/stream_config.hpp"

#include <string>
#include <string_view>

namespace tern::jetstream {

class stream_context {
 public:
  virtual ~stream_context() = default;
  virtual const stream_config& config() const = 0;
  virtual storage::stream_log& log() = 0;
  virtual storage::stream_record& record() = 0;
  virtual routing::account& account() = 0;
  virtual environment& surroundings() = 0;
  virtual const account_limits& limits() const = 0;  // of the account
  virtual const std::string& identity() const = 0;   // tells streams of one name apart (7.2)

  // A consumer acknowledged or terminated a message (or passed it, for ack none). On interest and workqueue streams the
  // message goes when nobody else needs it (jetstream 6.3, 6.4).
  virtual void on_settled(storage::sequence number) = 0;
  // A consumer was deleted or its filters changed: interest is evaluated again (6.3).
  virtual void on_interest_changed() = 0;
  // Publishes an advisory on `$JS.EVENT.ADVISORY.` + subject, if somebody listens (19). `body` is complete JSON.
  virtual void advise(std::string_view subject, std::string_view body) = 0;

  // Alive while views of log() are being published: a receiver may publish to this very stream, and its append would
  // pull the bytes away. The stream takes such publishes only when no scope is open.
  class delivery_scope {
   public:
    explicit delivery_scope(stream_context& stream) : stream_(stream) { ++stream_.open_scopes_; }
    ~delivery_scope() { --stream_.open_scopes_; }
    delivery_scope(const delivery_scope&) = delete;
    delivery_scope& operator=(const delivery_scope&) = delete;

   private:
    stream_context& stream_;
  };

 protected:
  int open_scopes_ = 0;
};

}  // namespace tern::jetstream
