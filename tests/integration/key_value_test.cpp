// Key-value buckets against both servers, and against buckets that other clients write (jetstream 21).
#include "server_fixture.hpp"

#include <tern/client/key_value.hpp>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class key_value_on : public with_server {
 protected:
  key_value bucket(std::string_view name, std::int64_t history = 1) {
    key_value_config config;
    config.bucket = name;
    config.history = history;
    config.storage = storage_type::memory;
    return must(key_value_buckets(js).create(config).get());
  }
  static std::string told(const key_value_entry& entry) {
    const char* verb[] = {"=", " deleted ", " purged "};
    return entry.key + verb[static_cast<int>(entry.operation)] + entry.value + "@" + std::to_string(entry.revision);
  }
  static std::string told(result<std::optional<key_value_entry>> update) {
    if (!update) return update.error().message();
    return *update ? told(**update) : "all";
  }
};

TEST_P(key_value_on, a_key_is_put_read_updated_deleted_and_created_again) {
  auto profiles = bucket("profiles", 5);
  EXPECT_EQ(profiles.get("ada").get().error().code(), errc::not_found);
  EXPECT_EQ(must(profiles.put("ada", "1").get()), 1u);
  EXPECT_EQ(told(must(profiles.get("ada").get())), "ada=1@1");
  EXPECT_EQ(profiles.create("ada", "x").get().error().code(), errc::already_exists);
  EXPECT_EQ(must(profiles.update("ada", "2", 1).get()), 2u);
  EXPECT_EQ(profiles.update("ada", "3", 1).get().error().code(), errc::wrong_last_sequence);
  EXPECT_EQ(told(must(profiles.get("ada", 1).get())), "ada=1@1");
  EXPECT_EQ(profiles.get("eve", 1).get().error().code(), errc::not_found) << "another key's revision";
  EXPECT_EQ(profiles.remove("ada", key_value_put_options().expect_revision(1)).get().error().code(),
            errc::wrong_last_sequence);
  must(profiles.remove("ada").get());
  EXPECT_EQ(profiles.get("ada").get().error().code(), errc::not_found);
  EXPECT_EQ(must(profiles.create("ada", "again").get()), 4u);
  std::string kept;
  for (const auto& entry : must(profiles.history("ada").get())) kept += told(entry) + " ";
  EXPECT_EQ(kept, "ada=1@1 ada=2@2 ada deleted @3 ada=again@4 ");
  must(profiles.purge("ada").get());
  EXPECT_EQ(must(profiles.history("ada").get()).size(), 1u);
  EXPECT_EQ(profiles.history("eve").get().error().code(), errc::not_found);
}

TEST_P(key_value_on, keys_are_listed_with_filters_and_without_what_was_deleted) {
  auto places = bucket("places");
  for (const auto* key : {"eu.paris", "eu.rome", "us.boston", "eu.gone"}) must(places.put(key, "x").get());
  must(places.remove("eu.gone").get());
  EXPECT_EQ(must(places.keys().get()), (std::vector<std::string>{"eu.paris", "eu.rome", "us.boston"}));
  EXPECT_EQ(must(places.keys({"us.>"}).get()), (std::vector<std::string>{"us.boston"}));
  EXPECT_EQ(must(places.keys({"us.*", "eu.rome"}).get()), (std::vector<std::string>{"eu.rome", "us.boston"}));
  EXPECT_TRUE(must(places.keys({"asia.>"}).get()).empty());
  for (const auto* bad : {"", ".a", "a.", "a..b", "a b", "a*", "$x", "ä"}) {
    EXPECT_EQ(places.put(bad, "x").get().error().code(), errc::invalid_argument) << bad;
  }
  must(places.purge_deletes(0s).get());
  EXPECT_EQ(must(places.status().get()).values, 3u);
}

TEST_P(key_value_on, a_watch_tells_what_stands_there_then_that_this_was_all_then_changes) {
  auto stock = bucket("stock", 3);
  must(stock.put("a", "1").get());
  must(stock.put("b", "1").get());
  must(stock.put("a", "2").get());
  must(stock.remove("b").get());
  auto all = must(stock.watch({}));
  auto living = must(stock.watch({">"}, key_value_watch_options().ignore_deletes()));
  auto past = must(stock.watch({"a"}, key_value_watch_options().history()));
  auto later = must(stock.watch({}, key_value_watch_options().updates_only()));
  auto bare = must(stock.watch({"a"}, key_value_watch_options().meta_only()));
  auto resumed = must(stock.watch({}, key_value_watch_options().resume_from(3)));
  EXPECT_EQ(told(all.next().get()), "a=2@3");
  EXPECT_EQ(told(all.next().get()), "b deleted @4");
  EXPECT_EQ(told(all.next().get()), "all");
  EXPECT_EQ(told(living.next().get()), "a=2@3");
  EXPECT_EQ(told(living.next().get()), "all");
  EXPECT_EQ(told(past.next().get()), "a=1@1");
  EXPECT_EQ(told(past.next().get()), "a=2@3");
  EXPECT_EQ(told(past.next().get()), "all");
  EXPECT_EQ(told(bare.next().get()), "a=@3");
  EXPECT_EQ(told(bare.next().get()), "all");
  EXPECT_EQ(told(resumed.next().get()), "a=2@3");
  EXPECT_EQ(told(resumed.next().get()), "b deleted @4");
  EXPECT_EQ(told(resumed.next().get()), "all");
  must(stock.put("c", "9").get());
  for (auto* watch : {&all, &living, &later, &resumed}) EXPECT_EQ(told(watch->next().get()), "c=9@5");
  EXPECT_FALSE(past.try_next().has_value());
  auto empty = must(bucket("empty").watch({}));
  EXPECT_EQ(told(empty.next().get()), "all");
}

TEST_P(key_value_on, buckets_are_made_found_changed_and_removed) {
  key_value_buckets buckets(js);
  key_value_config config;
  config.bucket = "settings";
  config.ttl = 1min;
  config.history = 10;
  config.compression = true;
  must(buckets.create(config).get());
  config.history = 20;
  EXPECT_EQ(buckets.create(config).get().error().code(), errc::already_exists);
  must(buckets.update(config).get());
  must(buckets.create_or_update(config).get());
  const auto status = must(must(buckets.open("settings").get()).status().get());
  EXPECT_EQ(status.history, 20);
  EXPECT_EQ(status.ttl, nanoseconds(1min));
  EXPECT_TRUE(status.compressed);
  EXPECT_EQ(status.stream.config.duplicate_window, nanoseconds(1min));
  EXPECT_EQ(must(buckets.names().get()), std::vector<std::string>{"settings"});
  EXPECT_EQ(must(buckets.list().get()).size(), 1u);
  must(buckets.remove("settings").get());
  EXPECT_EQ(buckets.open("settings").get().error().code(), errc::not_found);
  EXPECT_EQ(buckets.update(config).get().error().code(), errc::not_found);
  config.history = 65;
  EXPECT_EQ(buckets.create(config).get().error().code(), errc::invalid_argument);
  config.bucket = "not.a.name";
  EXPECT_EQ(buckets.create(config).get().error().code(), errc::invalid_argument);
}

TEST_P(key_value_on, a_key_lives_as_long_as_its_ttl_and_a_marker_tells_when_it_went) {
  key_value_config config;
  config.bucket = "sessions";
  config.storage = storage_type::memory;
  config.limit_marker_ttl = 5s;
  auto sessions = must(key_value_buckets(js).create(config).get());
  auto watch = must(sessions.watch({}));
  EXPECT_EQ(told(watch.next().get()), "all");
  must(sessions.create("s1", "x", key_value_put_options().ttl(1s)).get());
  EXPECT_EQ(told(watch.next().get()), "s1=x@1");
  EXPECT_EQ(told(watch.next().get()), "s1 purged @2") << "the TTL is raised to the marker's, at most 5 s";
  EXPECT_EQ(sessions.get("s1").get().error().code(), errc::not_found);
  must(sessions.create("s1", "y").get());
}

TEST_P(key_value_on, a_bucket_may_be_a_mirror_or_gather_others) {
  auto origin = bucket("origin");
  must(origin.put("a", "1").get());
  key_value_config copy;
  copy.bucket = "copy";
  copy.storage = storage_type::memory;
  copy.mirror = stream_source{.name = "origin"};
  auto mirror = must(key_value_buckets(js).create(copy).get());
  auto seen = must(mirror.watch({}));
  for (auto next = told(seen.next().get()); next != "a=1@1"; next = told(seen.next().get())) EXPECT_EQ(next, "all");
  EXPECT_EQ(told(must(mirror.get("a").get())), "a=1@1");
  must(mirror.put("b", "2").get());
  EXPECT_EQ(told(must(origin.get("b").get())), "b=2@2");
  key_value_config gathering;
  gathering.bucket = "gathering";
  gathering.storage = storage_type::memory;
  gathering.sources = {stream_source{.name = "origin"}};
  auto gathered = must(key_value_buckets(js).create(gathering).get());
  auto coming = must(gathered.watch({"b"}));
  for (auto next = told(coming.next().get()); next != "b=2@2"; next = told(coming.next().get())) EXPECT_EQ(next, "all");
  must(gathered.put("own", "3").get());
  EXPECT_EQ(told(must(gathered.get("own").get())), "own=3@3");
}

TEST_P(key_value_on, a_bucket_without_direct_get_is_read_through_the_api) {
  stream_config old;
  old.name = "KV_old";
  old.subjects = {"$KV.old.>"};
  old.max_msgs_per_subject = 1;
  old.allow_rollup_hdrs = true;
  stream(old);
  auto bucket = must(key_value_buckets(js).open("old").get());
  must(bucket.put("a", "1").get());
  EXPECT_EQ(told(must(bucket.get("a").get())), "a=1@1");
  EXPECT_EQ(told(must(bucket.get("a", 1).get())), "a=1@1");
  EXPECT_EQ(bucket.get("b").get().error().code(), errc::not_found);
}

TEST_P(key_value_on, a_codec_keeps_keys_and_values_in_its_own_way) {
  auto plain = bucket("codec");
  auto codec = base64_keys();
  codec.encode_value = [](std::string_view value) -> result<std::string> { return "<" + std::string(value) + ">"; };
  codec.decode_value = [](std::string_view value) -> result<std::string> {
    if (value.size() < 2) return fail(errc::decode_error, "not in brackets");
    return std::string(value.substr(1, value.size() - 2));
  };
  auto coded = plain.with_codec(codec);
  must(coded.put("a key.ü", "v").get());
  EXPECT_EQ(told(must(coded.get("a key.ü").get())), "a key.ü=v@1");
  EXPECT_EQ(must(coded.keys({"a key.*"}).get()), std::vector<std::string>{"a key.ü"});
  EXPECT_EQ(told(must(plain.get("YSBrZXk.w7w").get())), "YSBrZXk.w7w=<v>@1");
  must(plain.put("YQ", "?").get());
  EXPECT_EQ(coded.get("a").get().error().code(), errc::decode_error);
}

INSTANTIATE_TEST_SUITE_P(servers, key_value_on, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
