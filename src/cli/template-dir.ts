import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE_FILES_MAX } from '../contract/limits.js';
import { INDEX_FILE } from '../contract/page-files.js';
import { TEMPLATE_MAX_BYTES } from '../contract/template.js';
import { OperatorError, UsageError } from './operator-error.js';
import { readFileOf } from './picture-file.js';
import { filesBelow, type SentFiles } from './referenced-files.js';

/**
 * Reads the files of a template: all in the directory and below, without dotfiles, symbolic links and `node_modules`.
 * @throws UsageError if there is no index.html; OperatorError for too many or too large files
 */
export async function readTemplateDir(dir: string): Promise<SentFiles> {
  if (!existsSync(join(dir, INDEX_FILE))) throw new UsageError(`There is no ${join(dir, INDEX_FILE)}.`);
  const names = (await filesBelow(dir, () => true)).sort();
  const bytes = names.reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  if (names.length > PAGE_FILES_MAX || bytes > TEMPLATE_MAX_BYTES)
    throw new OperatorError(
      `${dir} has more than ${PAGE_FILES_MAX} files, or more than ${TEMPLATE_MAX_BYTES / 1e6} MB of them.`,
    );
  const files: SentFiles = {};
  for (const name of names) files[name] = new Uint8Array(await readFileOf(join(dir, name)));
  return files;
}
