import { type CompletedCommand, type CompletedOption, pathCases, quoted, valueCases } from './completion-model.js';

/**
 * Generates a script for bash 3.2 (macOS) and later, without the bash-completion package. bash completes files if the script offers
 * nothing.
 */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# stillframe completion for bash. To use it: source <(stillframe completion bash)
_stillframe() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at="" i
  local commands="" options="" files=""
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
${pathCases(commands)}    esac
  done
  case "$at $prev" in
${valueCases(commands, replyTo)}  esac
  case "$at" in
${commands.map(wordCase).join('')}  esac
  if [[ $cur == -?* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  fi
  [[ -n $files ]] || compopt +o default 2>/dev/null || true
}
complete -o default -F _stillframe stillframe
`;
}

function replyTo(value: CompletedOption['value']): string {
  if (value === 'file') return '';
  if (typeof value === 'string') return 'compopt +o default 2>/dev/null; ';
  return `COMPREPLY=($(compgen -W ${quoted(value.join(' '))} -- "$cur")); `;
}

function wordCase({ at, commands, choices, options, takesFile }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices].join(' ');
  const flags = options.flatMap(({ names }) => names).join(' ');
  return `    ${quoted(at)}) commands=${quoted(words)} options=${quoted(flags)} files=${quoted(takesFile ? 'yes' : '')} ;;\n`;
}
