// Object stores against both servers (jetstream 21).
#include "server_fixture.hpp"

#include <tern/client/object_store.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class object_store_on : public with_server {
 protected:
  object_store store(std::string_view bucket) {
    object_store_config config;
    config.bucket = bucket;
    config.storage = storage_type::memory;
    return must(object_stores(js).create(config).get());
  }
  static object_meta named(std::string_view name) {
    object_meta about;
    about.name = name;
    return about;
  }
  static std::string bytes(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 >> 3);
    return out;
  }
  std::uint64_t stored(std::string_view bucket) {
    return must(js.stream_info("OBJ_" + std::string(bucket)).get()).state.messages;
  }
};

TEST_P(object_store_on, an_object_comes_back_as_it_was_put_in_pieces_of_128_kib) {
  auto images = store("images");
  EXPECT_EQ(images.get("logo").get().error().code(), errc::not_found);
  const std::string data = bytes(300'000);
  object_meta about = named("a logo/with ü.png");
  about.description = "the logo";
  about.headers = {{"X-One", {"1", "2"}}};
  about.metadata = {{"k", "v"}};
  const auto info = must(images.put(about, data).get());
  EXPECT_EQ(info.chunks, 3u);
  EXPECT_EQ(info.size, 300'000u);
  const auto read = must(images.get(about.name).get());
  EXPECT_EQ(read.data, data);
  EXPECT_EQ(read.info.digest, info.digest);
  EXPECT_EQ(read.info.meta.headers, about.headers);
  EXPECT_EQ(read.info.meta.metadata, about.metadata);
  EXPECT_EQ(read.info.meta.description, about.description);
  // Put again: the earlier pieces go.
  must(images.put(about, "small").get());
  EXPECT_EQ(must(images.get(about.name).get()).data, "small");
  EXPECT_EQ(stored("images"), 2u);
  must(images.put("empty", "").get());
  EXPECT_EQ(must(images.get("empty").get()).data, "");
  EXPECT_EQ(images.put("", "x").get().error().code(), errc::invalid_argument);
}

TEST_P(object_store_on, a_known_text_has_the_digest_that_other_clients_write) {
  auto texts = store("texts");
  EXPECT_EQ(must(texts.put("abc", "abc").get()).digest, "SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=");
  EXPECT_EQ(must(js.get_last_message("OBJ_texts", "$O.texts.M.YWJj").get()).subject, "$O.texts.M.YWJj");
}

TEST_P(object_store_on, an_upload_takes_pieces_of_any_size_and_an_abort_leaves_nothing) {
  auto logs = store("logs");
  object_meta about = named("log");
  about.options.emplace();
  about.options->max_chunk_size = 1000;
  auto upload = logs.begin_put(about);
  std::string all;
  for (const std::size_t size : {0u, 1u, 999u, 1500u, 5000u, 7u}) {
    all += bytes(size);
    must(upload.write(bytes(size)).get());
  }
  const auto info = must(upload.finish().get());
  EXPECT_EQ(info.chunks, 8u);
  EXPECT_EQ(upload.write("x").get().error().code(), errc::closed);
  auto reader = must(logs.open("log").get());
  EXPECT_EQ(reader.info().size, all.size());
  std::string read;
  for (;;) {
    const auto piece = must(reader.next().get());
    if (!piece) break;
    EXPECT_LE(piece->size(), 1000u);
    read += *piece;
  }
  EXPECT_EQ(read, all);
  auto unwanted = logs.begin_put(named("unwanted"));
  must(unwanted.write(bytes(1'000'000)).get());
  must(unwanted.abort().get());
  EXPECT_EQ(stored("logs"), 9u);
  EXPECT_EQ(logs.info("unwanted").get().error().code(), errc::not_found);
}

TEST_P(object_store_on, damage_is_found_by_the_digest_and_missing_pieces_do_not_hang) {
  auto images = store("images");
  const auto info = must(images.put("x", bytes(200'000)).get());
  must(js.delete_message("OBJ_images", 2).get());
  EXPECT_EQ(images.get("x").get().error().code(), errc::corrupted);
  const auto whole = must(images.put("y", "abc").get());
  must(js.purge_stream("OBJ_images", purge_options{.filter = "$O.images.C." + whole.nuid}).get());
  must(js.publish("$O.images.C." + whole.nuid, "abd").get());
  EXPECT_EQ(images.get("y").get().error().code(), errc::corrupted);
}

TEST_P(object_store_on, links_lead_to_objects_of_other_stores) {
  auto here = store("here");
  auto there = store("there");
  const auto target = must(there.put("target", "over there").get());
  const auto link = must(here.add_link("link", target).get());
  EXPECT_EQ(must(here.get("link").get()).data, "over there");
  EXPECT_TRUE(must(here.info("link").get()).is_link());
  EXPECT_EQ(here.add_link("link2", link).get().error().code(), errc::invalid_argument);
  must(here.put("object", "x").get());
  EXPECT_EQ(here.add_link("object", target).get().error().code(), errc::invalid_argument);
  must(here.add_bucket_link("all", there).get());
  EXPECT_EQ(here.get("all").get().error().code(), errc::unsupported);
  must(there.remove("target").get());
  EXPECT_EQ(here.get("link").get().error().code(), errc::not_found);
}

TEST_P(object_store_on, objects_are_listed_watched_renamed_deleted_and_sealed) {
  auto images = store("images");
  must(images.put("a", "1").get());
  must(images.put("b", "2").get());
  must(images.remove("b").get());
  EXPECT_EQ(images.remove("b").get().error().code(), errc::not_found);
  EXPECT_TRUE(must(images.info("b", true).get()).deleted);
  EXPECT_EQ(must(images.list().get()).size(), 1u);
  auto watch = must(images.watch());
  EXPECT_EQ(must(watch.next().get())->meta.name, "a");
  EXPECT_TRUE(must(watch.next().get())->deleted);
  EXPECT_FALSE(must(watch.next().get()).has_value()) << "that was all";
  object_meta about = named("c");
  about.description = "was a";
  must(images.update_meta("a", about).get());
  EXPECT_EQ(must(watch.next().get())->meta.name, "c");
  EXPECT_EQ(must(images.get("c").get()).data, "1");
  EXPECT_EQ(images.get("a").get().error().code(), errc::not_found);
  must(images.put("d", "4").get());
  const auto taken = named("d");
  EXPECT_EQ(images.update_meta("c", taken).get().error().code(), errc::already_exists);
  must(images.seal().get());
  EXPECT_FALSE(images.put("e", "5").get().has_value());
  EXPECT_TRUE(must(images.status().get()).sealed);
  EXPECT_EQ(must(object_stores(js).names().get()), std::vector<std::string>{"images"});
  must(object_stores(js).remove("images").get());
  EXPECT_EQ(object_stores(js).open("images").get().error().code(), errc::not_found);
}

TEST_P(object_store_on, a_coroutine_writes_and_reads_on_an_executor_of_its_own) {
  auto images = store("images");
  boost::asio::io_context here;
  std::string outcome;
  const auto work = [&]() -> boost::asio::awaitable<void> {
    auto upload = images.begin_put(named("co"));
    std::string first = bytes(150'000);
    auto written = co_await upload.write(first);
    EXPECT_TRUE(written.has_value());
    auto info = co_await upload.finish();
    EXPECT_TRUE(info.has_value());
    auto read = co_await images.get("co");
    outcome = read ? (read->data == first ? "same" : "different") : read.error().message();
  };
  boost::asio::co_spawn(here, work, boost::asio::detached);
  here.run();
  EXPECT_EQ(outcome, "same");
}

INSTANTIATE_TEST_SUITE_P(servers, object_store_on, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
