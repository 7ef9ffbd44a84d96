import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { PAGE_FILES_MAX } from '../contract/limits.js';
import { INDEX_FILE } from '../contract/page-files.js';
import { TEMPLATE_MAX_BYTES } from '../contract/template.js';
import { actOnServer, addServerCommand, type OnServer } from './on-server.js';
import { OperatorError, UsageError } from './operator-error.js';
import { readFileOf } from './picture-file.js';
import { filesBelow, type SentFiles } from './referenced-files.js';
import { print, table } from './with-store.js';

/** Adds `stillframe templates …`: the templates of a server, through its API. */
export function addTemplatesCommand(program: Command): void {
  const templates = program.command('templates').description('keep pages with parameters on a server, in versions');
  const act = <Given extends unknown[]>(command: Command, work: (called: OnServer, ...given: Given) => Promise<void>) =>
    actOnServer(command, { what: 'Templates', scopes: 'templates:read and templates:write' }, work);

  const push = addServerCommand(templates, {
    name: 'push',
    description: 'store the next version of a template',
    example: 'templates push og-card/',
  })
    .argument('<dir>', 'directory with index.html, template.json and the other files')
    .option('--name <name>', 'name of the template; default: that of the directory');
  act<[string, { name?: string }]>(push, async ({ client, json }, dir, { name = basename(resolve(dir)) }) => {
    const stored = await client.pushTemplate(name, await readTemplateDir(dir));
    print(
      json,
      stored,
      () => `${stored.name}@${stored.version}  ${stored.files.length} files, ${sayBytes(stored.bytes)}`,
    );
  });

  act(
    addServerCommand(templates, { name: 'list', description: 'list the templates', example: 'templates list' }),
    async ({ client, json }) => {
      const all = await client.templates();
      print(json, all, () =>
        table(
          ['name', 'version', 'versions', 'size', 'description'],
          all.map((one) => [
            one.name,
            String(one.version),
            String(one.versions),
            sayBytes(one.bytes),
            one.description ?? '',
          ]),
        ),
      );
    },
  );

  const named = (name: string, description: string) =>
    addServerCommand(templates, { name, description, example: `templates ${name} og-card@3` }).argument(
      '<name>',
      'name of the template, or of a version, such as og-card@3',
    );
  act<[string]>(named('show', 'show the parameters, files and versions of a template'), async (called, name) => {
    const found = await called.client.template(name);
    print(called.json, found, () => JSON.stringify(found, null, 2));
  });
  act<[string]>(named('delete', 'delete a template, or one of its versions'), async ({ client, json }, name) => {
    await client.deleteTemplate(name);
    print(json, { name, deleted: true }, () => `${name} is deleted.`);
  });
}

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

function sayBytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`;
}
