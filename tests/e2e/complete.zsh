# SPDX-License-Identifier: Apache-2.0
# complete.zsh FOLDER_OF_FUNCTIONS LINE OUT: what zsh makes of a line that is typed and followed by a Tab goes into OUT.
zmodload zsh/zpty
zpty zsh zsh -f -i
zpty -w zsh "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w zsh "written() { print -rn -- \"\$BUFFER\" >${(q)3}; exit }; zle -N written; bindkey '^X' written"
zpty -w zsh "PS1='re''ady'"
zpty -r zsh said '*ready*'
zpty -w -n zsh "$2"$'\t\x18'
while zpty -r zsh said; do :; done
