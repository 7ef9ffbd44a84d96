import { Argument, type Command } from 'commander';
import { bashCompletion } from './completion-bash.js';
import { fishCompletion } from './completion-fish.js';
import { completionModel } from './completion-model.js';
import { zshCompletion } from './completion-zsh.js';

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const EXAMPLES = `
Examples:
  bash: echo 'source <(stillframe completion bash)' >> ~/.bashrc
  zsh:  echo 'source <(stillframe completion zsh)' >> ~/.zshrc   (after compinit)
  fish: stillframe completion fish > ~/.config/fish/completions/stillframe.fish`;

/**
 * `stillframe completion bash | zsh | fish`: a completion script, generated from the commands and flags of the program. Packages such as
 * `omelette` and `tabtab` start the program at each Tab instead.
 */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', EXAMPLES)
    .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(SCRIPTS[shell](completionModel(program))));
}
