#include "command_groups.hpp"
#include "store.hpp"

namespace tern::command {

void add_store_commands(CLI::App& app, invocation& chosen) {
  CLI::App* group = app.add_subcommand("store", "Files of a store, while no server runs on it");
  auto [importing, from] = add_command<store_import_arguments>(
      *group, chosen, "import", "Take over the streams of a nats-server's directory", &store_import);
  importing->add_option("directory", from->from, "The nats-server's store_dir; it is only read")->required();
  importing->add_option("--to", from->to, "The store_dir of ternd");
  importing->add_option("--account", from->account, "Only this account");
  importing->add_option("--stream", from->stream, "Only this stream");
  importing->add_option("--key", from->key, "The key that the nats-server encrypts with");
  importing->add_option("--key-file", from->key_file, "A file with that key");
  importing->add_flag("--check", from->check, "Read and check everything, write nothing");

  auto [verifying, checked] = add_command<store_check_arguments>(
      *group, chosen, "verify", "Read everything, name what is damaged, change nothing", &store_verify);
  verifying->add_option("directory", checked->directory, "The store_dir of ternd")->required();

  auto [repairing, repaired] = add_command<store_repair_arguments>(
      *group, chosen, "repair", "Make a damaged store whole without what is lost; copies are kept", &store_repair);
  repairing->add_option("directory", repaired->directory, "The store_dir of ternd")->required();
}

}  // namespace tern::command
