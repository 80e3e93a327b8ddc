#include "service/message_source.hpp"

namespace tern::service::detail {
namespace {

class pull_source final : public message_source {
 public:
  explicit pull_source(client::pull_stream stream) : stream_(std::move(stream)) {}

  std::optional<result<client::message>> try_next() override {
    auto item = stream_.try_next();
    if (!item) return std::nullopt;
    return plain(std::move(*item));
  }
  void next(std::function<void(result<client::message>)> then) override {
    stream_.next().then(
        [then = std::move(then)](result<client::jetstream_message> item) { then(plain(std::move(item))); });
  }
  bool ended() const override { return stream_.ended(); }
  bool degraded() const override { return stream_.degraded(); }
  std::vector<std::string> waiting_replies() const override { return stream_.waiting_replies(); }
  std::vector<client::message> cancel() override {
    std::vector<client::message> left;
    for (auto& message : stream_.cancel()) left.push_back(std::move(message).release());
    return left;
  }

 private:
  static result<client::message> plain(result<client::jetstream_message> item) {
    if (!item) return std::unexpected(std::move(item).error());
    return std::move(*item).release();
  }
  client::pull_stream stream_;
};

class core_source final : public message_source {
 public:
  explicit core_source(client::subscription subscription) : subscription_(std::move(subscription)) {}

  std::optional<result<client::message>> try_next() override {
    auto item = subscription_.try_next();
    if (!item) return std::nullopt;
    return std::move(*item);
  }
  void next(std::function<void(result<client::message>)> then) override { subscription_.next().then(std::move(then)); }
  bool ended() const override { return !subscription_.active() && subscription_.pending() == 0; }
  bool degraded() const override { return false; }
  std::vector<std::string> waiting_replies() const override { return {}; }
  std::vector<client::message> cancel() override {
    subscription_.unsubscribe();
    return {};  // what waits here is lost, as Core permits
  }

 private:
  client::subscription subscription_;
};

}  // namespace

std::unique_ptr<message_source> make_pull_source(client::pull_stream stream) {
  return std::make_unique<pull_source>(std::move(stream));
}
std::unique_ptr<message_source> make_core_source(client::subscription subscription) {
  return std::make_unique<core_source>(std::move(subscription));
}

}  // namespace tern::service::detail
