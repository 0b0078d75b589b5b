#include "runtime/loader/instance.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

struct CodeAndText {
  Code code;
  std::string text;
};

// What a plugin said, as one line; a code that abi.h does not know is INTERNAL and shown.
CodeAndText read_status(std::int32_t code, std::string_view message) {
  CodeAndText result{static_cast<Code>(code), escaped(message)};
  if (result.text.empty()) result.text = "no message";
  const bool known = (code > BELAY_OK && code <= BELAY_UNAUTHENTICATED) || (code >= BELAY_STOP && code <= BELAY_SKIP);
  if (!known) {
    result.code = Code::kInternal;
    result.text += " (unknown status code " + std::to_string(code) + ")";
  }
  return result;
}

// Of the exception that is being handled: "std::runtime_error: boom".
std::string current_exception_text() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  std::string name = "an exception of unknown type";
  if (type != nullptr) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    name = demangled == nullptr ? type->name() : demangled;
    std::free(demangled);
  }
  try {
    throw;
  } catch (const std::exception& e) {
    return name + ": " + escaped(detail::text_of(e));
  } catch (...) {
    return name;
  }
}

}  // namespace

PluginInstance::PluginInstance(const RegisteredPlugin& plugin, const ResolvedPlugin& use, const HostServices& services,
                               CallMonitor& monitor)
    : plugin_(plugin),
      host_(services, use.instance_name),
      monitor_(monitor),
      label_(plugin.label(use.instance_name, use.at)) {
  create(use);
}

namespace {

std::unique_ptr<RegisteredPlugin> own_plugin(const std::string& name) {
  auto plugin = std::make_unique<RegisteredPlugin>();
  plugin->info.kind = PluginKind::kHook;
  plugin->info.name = name;
  plugin->version = "the program's own";
  return plugin;
}

}  // namespace

PluginInstance::PluginInstance(const std::string& name, const MakeHook& make, const HostServices& services,
                               CallMonitor& monitor)
    : own_plugin_(own_plugin(name)),
      plugin_(*own_plugin_),
      host_(services, name),
      monitor_(monitor),
      label_("hook \"" + escaped(name) + "\"") {
  own_hook_ = make(InstanceHost::api(), host_.raw());
  self_ = own_hook_.self();
  own_plugin_->table = adopt_table(PluginKind::kHook, own_hook_.table());
}

void PluginInstance::create(const ResolvedPlugin& use) {
  const auto failed = [&](Code code, const std::string& text) {
    fail(code, at_text(use.at) + "cannot create " + plugin_.label(use.instance_name) +
                   (plugin_.file.empty() ? "" : " of '" + escaped(plugin_.file) + "'") + ": " + text);
  };
  const CallScope scope(monitor_, this, "create");
  detail::Status status;
  std::int32_t code = BELAY_OK;
  std::string thrown;
  try {
    code = std::visit(
        [&](const auto& table) {
          return table.create(InstanceHost::api(), host_.raw(), use.options.data(), use.options.size(), &self_, status);
        },
        plugin_.table);
  } catch (...) {
    thrown = current_exception_text();
  }
  if (!thrown.empty()) failed(Code::kUnknown, "it let an exception escape: " + thrown);
  if (code != BELAY_OK) {
    const CodeAndText said = read_status(code, status.message());
    failed(said.code, said.text);
  }
  if (self_ == nullptr) failed(Code::kInternal, "it gave no instance (self is null)");
}

PluginInstance::~PluginInstance() {
  if (poisoned() || self_ == nullptr || own_hook_) return;  // a program's own hook dies with its handle
  const CallScope scope(monitor_, this, "destroy");
  try {
    std::visit([&](const auto& table) { table.destroy(self_); }, plugin_.table);
  } catch (...) {
    log_escape("destroy");
  }
}

void PluginInstance::log_escape(const char* callback) const {
  host_.services().logger().error(
      name(), label_ + " let an exception escape from " + callback + ": " + current_exception_text());
}

std::string PluginInstance::place(const char* callback) const {
  const std::int64_t step = monitor_.step.load(std::memory_order_relaxed);
  return label_ + " in " + callback + (step < 0 ? "" : " at step " + std::to_string(step));
}

void PluginInstance::fail_callback(const char* callback, std::int32_t code, std::string_view text) const {
  const CodeAndText said = read_status(code, text);
  fail(said.code, place(callback) + ": " + said.text);
}

void PluginInstance::fail_poisoned(const char* callback) const {
  fail(Code::kFailedPrecondition,
       place(callback) + ": it is not called any more, since it let an exception escape from an earlier call");
}

void PluginInstance::poison(const char* callback) {
  poisoned_ = true;
  fail(Code::kUnknown,
       place(callback) + ": it let an exception escape, and is not called any more: " + current_exception_text());
}

PluginInstances::~PluginInstances() {
  while (!instances_.empty()) instances_.pop_back();
}

PluginInstance& PluginInstances::create(const RegisteredPlugin& plugin, const ResolvedPlugin& use,
                                        const HostServices& services, CallMonitor& monitor) {
  instances_.push_back(std::make_unique<PluginInstance>(plugin, use, services, monitor));
  return *instances_.back();
}

PluginInstance& PluginInstances::add_hook(const std::string& name, const PluginInstance::MakeHook& make,
                                          const HostServices& services, CallMonitor& monitor) {
  instances_.push_back(std::make_unique<PluginInstance>(name, make, services, monitor));
  return *instances_.back();
}

}  // namespace belay::runtime
