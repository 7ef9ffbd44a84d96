import { basename, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { INDEX_FILE } from '../contract/page-files.js';
import { actOnServer, addServerCommand, type OnServer } from './on-server.js';
import { printable, printLine } from './operator-error.js';
import { readTemplateDir } from './template-dir.js';
import { print, table } from './with-store.js';

/** Adds `stillframe templates …`: the templates of a server, through its API. */
export function addTemplatesCommand(program: Command): void {
  const templates = program.command('templates').description('keep pages with parameters on a server, in versions');

  const act = <Args extends unknown[]>(command: Command, work: (called: OnServer, ...args: Args) => Promise<void>) =>
    actOnServer(command, { resource: 'Templates', scopes: 'templates:read and templates:write' }, work);

  const push = addServerCommand(templates, {
    name: 'push',
    description: 'store the next version of a template',
    example: 'templates push og-card/',
  })
    .argument('<dir>', 'directory with index.html, template.json and the other files')
    .option('--name <name>', 'name of the template; default: that of the directory');
  act<[string, { name?: string }]>(push, async ({ client, json }, dir, { name = basename(resolve(dir)) }) => {
    const files = await readTemplateDir(dir);
    const { missingFiles } = await import('../templates/missing-files.js');
    for (const missing of missingFiles(new TextDecoder().decode(files[INDEX_FILE]), Object.keys(files)))
      printLine(printable(`stillframe: ${INDEX_FILE} names the file ${missing}, which is not in ${dir}.`));
    const stored = await client.pushTemplate(name, files);
    print(
      json,
      stored,
      () => `${stored.name}@${stored.version}  ${stored.files.length} files, ${formatBytes(stored.bytes)}`,
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
            formatBytes(one.bytes),
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
  templates
    .command('preview')
    .description('show a template in the browsers of this machine, and reload it when a file changes')
    .argument('<dir>', 'directory with index.html, template.json and the other files')
    .addOption(new Option('--port <port>', 'port on 127.0.0.1').argParser(port).default(4173))
    .addHelpText('after', '\nExample:\n  stillframe templates preview og-card/')
    .action(async (dir: string, { port: at }: { port: number }) => {
      const { previewTemplate } = await import('./template-preview.js');
      const { url } = await previewTemplate(dir, at);
      printLine(`${url} shows the examples of template.json; ${url}?title=Hello another value. Stop with Ctrl+C.`);
    });
  act<[string]>(named('show', 'show the parameters, files and versions of a template'), async (called, name) => {
    const found = await called.client.template(name);
    print(called.json, found, () => JSON.stringify(found, null, 2));
  });
  act<[string]>(named('delete', 'delete a template, or one of its versions'), async ({ client, json }, name) => {
    await client.deleteTemplate(name);
    print(json, { name, deleted: true }, () => `${name} is deleted.`);
  });
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port, from 0 to 65535.');
  return Number(text);
}

function formatBytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`;
}
