// SPDX-License-Identifier: Apache-2.0
// Names from Keras, PyTorch, Lightning, Hugging Face's trainer and TensorFlow 1. They make the help in a message about
// an unknown name:
//
//   train.toml:12:1: error: unknown key "lr" in [optimizer]
//     help: write learning_rate in [optimizer]
//
// Upper and lower case, '_' and '-' make no difference here. The names are only for messages: no other name is ever
// accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

// Returns the replacement of a key or section of other programs: "write learning_rate in [optimizer]". `section` is the
// place of the name. Empty: the name is not in the table, or is valid in `section`.
std::string help_for_other_key(std::string_view name, std::string_view section = "");

// Returns the replacement of a key that another section of ours has, but this section spells otherwise: "write
// save_steps in [checkpoint]" of every_steps in [checkpoint]. Empty: the table has none.
std::string help_for_key_in(std::string_view name, const std::string& section);

// Returns the one of `words` that such a name means. Kind "option" is for the options of a plugin ("size" for
// "kernel_size"). Kind "value" is for a key's values ("max_pool" for "MaxPooling2D"). Empty: none.
std::string word_for_other(std::string_view kind, std::string_view name, const std::vector<std::string>& words);

// Does the same for the name of a plugin of `kind` ("hook", "schedule", ...). One of `known` may differ only in case,
// '_', '-' or the words Hook, Callback, Optimizer, Saver and LR. Else it uses the table. Empty: neither has it.
std::string help_for_other_plugin(std::string_view kind, std::string_view name, const std::vector<std::string>& known);

// The table, for a test that compares it with the existing names.
struct OtherName {
  const char* kind;  // of a plugin; "": a key or section; "option", "value": word_for_other; "in eval": help_for_key_in
  const char* names;    // with a space between them, in lower case without '_' and '-'
  const char* section;  // our section: "optimizer", "input.train"; "": a plugin's name, or nothing to write
  const char* key;      // our key; "": the section itself
  const char* remark;   // text after it, or alone if there is nothing to write
};
const std::vector<OtherName>& other_names();

}  // namespace belay::runtime
