import type { Command } from 'commander';
import { fontFiles, fontsDirOf } from '../render/launch/font-folder.js';
import { OperatorError } from './operator-error.js';
import { addSettings, readSettings } from './settings-flags.js';
import { addJsonCommand, type Json, print, table } from './with-store.js';

/** Adds `stillframe fonts add | list | remove`, for the fonts of all captures beside those of the system. */
export function addFontsCommand(program: Command): void {
  const fonts = program.command('fonts').description('add fonts for all captures, list them, or remove them');
  const add = addJsonCommand(fonts, {
    name: 'add',
    description: 'add fonts from files (.ttf, .otf, .ttc, .otc, .woff), or all fonts of npm packages',
    example: 'fonts add BrandSans-Regular.ttf @fontsource/inter',
  }).argument('<file|npm-package...>', 'files, or names of npm packages');
  addSettings(add, ['dataDir']).action(async (sources: string[], { json }: Json, command: Command) => {
    const { addFonts } = await import('../render/install/add-fonts.js');
    const dir = fontsDirOf(readSettings(command).dataDir);
    const added: string[] = [];
    for (const source of sources) added.push(...(await orOperatorError(() => addFonts(dir, source))));
    print(
      json,
      added,
      () =>
        `Added ${added.join(', ')}. Later captures use ${added.length === 1 ? 'it' : 'them'}; a server need not be restarted.`,
    );
  });
  const list = addJsonCommand(fonts, {
    name: 'list',
    description: 'list the fonts that were added',
    example: 'fonts list',
  });
  addSettings(list, ['dataDir']).action(({ json }: Json, command: Command) => {
    const dir = fontsDirOf(readSettings(command).dataDir);
    const files = fontFiles(dir).map(({ name, bytes, problem }) => ({ name, bytes, problem }));
    const rows = files.map(({ name, bytes, problem }) => [
      name,
      `${bytes}`,
      problem === null ? 'yes' : `no: ${problem}`,
    ]);
    print(json, files, () =>
      rows.length === 0 ? `There are no fonts in ${dir}.` : table(['File', 'Bytes', 'Used'], rows),
    );
  });
  const remove = addJsonCommand(fonts, {
    name: 'remove',
    description: 'remove fonts that were added',
    example: 'fonts remove BrandSans-Regular.ttf',
  }).argument('<file...>', 'names of files, as `fonts list` shows them');
  addSettings(remove, ['dataDir']).action(async (names: string[], { json }: Json, command: Command) => {
    const { removeFont } = await import('../render/install/add-fonts.js');
    const dir = fontsDirOf(readSettings(command).dataDir);
    for (const name of names) await orOperatorError(() => removeFont(dir, name));
    print(json, names, () => `Removed ${names.join(', ')}.`);
  });
}

async function orOperatorError<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new OperatorError((error as Error).message);
  }
}
