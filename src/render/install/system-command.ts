import { existsSync } from 'node:fs';

/** The program of a package manager, and a command that uses it, with `sudo` before each part that needs root. */
export type ManagerCommand = readonly [manager: string, command: string];

/** The command for this system's package manager, without `sudo` for root; null if it has none of them. */
export function systemCommand(
  commands: readonly ManagerCommand[],
  exists: (path: string) => boolean = existsSync,
  isRoot = process.getuid?.() === 0,
): string | null {
  const command = commands.find(([manager]) => exists(manager))?.[1];
  return command === undefined ? null : isRoot ? command.replaceAll('sudo ', '') : command;
}
