import { existsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { PERMISSIONS } from '../contract/document-schema.js';
import { parsePdfWork } from '../contract/pdf-work.js';
import { OperatorError, printLine, UsageError } from './operator-error.js';
import { checkWritable, readFileOf, writePicture } from './picture-file.js';

interface Output {
  output: string;
  force?: boolean;
}

const EXAMPLE_OF: Record<string, string> = {
  merge: 'cover.pdf report.pdf -o book.pdf --chapters',
  split: 'book.pdf --every 10 -o parts/',
  pages: 'book.pdf 2-5,9 -o part.pdf',
  rotate: 'scan.pdf --degrees 90 -o upright.pdf',
  flatten: 'form.pdf -o flat.pdf',
  metadata: "book.pdf --title 'All reports' -o titled.pdf",
  attach: 'report.pdf figures.csv -o with-figures.pdf',
  convert: 'report.pdf --conformance pdf/a-2b -o archive.pdf',
  encrypt: 'book.pdf --user-password secret -o locked.pdf',
};

/** Adds `stillframe pdf`: what POST /v1/pdf does, without a server. */
export function addPdfCommand(program: Command): void {
  const pdf = program
    .command('pdf')
    .summary('merge, split and change PDFs')
    .description('Merge, split and change PDFs, without a server.')
    .addHelpText(
      'after',
      `\nExamples:\n${['merge', 'split', 'pages', 'encrypt'].map((name) => `  stillframe pdf ${name} ${EXAMPLE_OF[name]}`).join('\n')}`,
    );
  command(pdf, 'merge', 'join files, with their bookmarks, links, form fields and tags', '<files...>')
    .option('--chapters', 'add a bookmark with the name of each file, which contains its own')
    .option('--blank-pages-to-odd', 'begin each file on an odd page, as for printing on both sides')
    .action((files: string[], { chapters, blankPagesToOdd, ...out }: Output & Record<string, boolean>) =>
      run(files, { merge: true, chapters, blank_pages_to_odd: blankPagesToOdd }, out as Output),
    );
  command(pdf, 'split', 'make several files, which are written to a directory')
    .option('--every <pages>', 'how many pages each file has at most', readNumber)
    .option('--range <pages>', 'the pages of one file, such as 1-3; may be repeated', collect)
    .action((file: string, { every, range, ...out }: Output & { every?: number; range?: string[] }) =>
      run([file], { split: { every, ranges: range } }, out, true),
    );
  command(pdf, 'pages', 'keep some pages, in the order that you give', '<file> <pages>').action(
    (file: string, pages: string, out: Output) => run([file], { pages }, out),
  );
  command(pdf, 'rotate', 'turn pages clockwise')
    .requiredOption('--degrees <90|180|270>', 'how far', readNumber)
    .option('--pages <pages>', 'pages that are turned, such as 2-5,9; all by default')
    .action((file: string, { degrees, pages, ...out }: Output & { degrees: number; pages?: string }) =>
      run([file], { rotate: { degrees, pages } }, out),
    );
  command(pdf, 'flatten', 'make form fields and annotations part of the pages').action((file: string, out: Output) =>
    run([file], { flatten: true }, out),
  );
  command(pdf, 'metadata', 'set what the document says about itself')
    .option('--title <text>', 'title')
    .option('--author <text>', 'author')
    .option('--subject <text>', 'subject')
    .option('--keyword <text>', 'keyword; may be repeated', collect)
    .option('--creator <text>', 'program that the document was made with')
    .option('--producer <text>', 'program that the PDF was written with')
    .option('--custom <name=text>', 'further entry; may be repeated', collect)
    .action((file: string, { output, force, keyword, custom, ...texts }: Output & MetadataFlags) =>
      run(
        [file],
        { metadata: { ...texts, keywords: keyword, custom: readPairs(custom) } },
        { output, force: force === true },
      ),
    );
  command(pdf, 'attach', 'put files into the document', '<file> <files...>').action(
    async (file: string, attachments: string[], out: Output) => {
      const contents = await Promise.all(
        attachments.map(async (path) => ({
          name: basename(path),
          content: (await readFileOf(path)).toString('base64'),
        })),
      );
      await run([file], { attachments: contents }, out);
    },
  );
  command(pdf, 'convert', 'make the document conform to a standard of archives or of accessibility')
    .requiredOption('--conformance <level>', 'such as pdf/a-2b or pdf/ua-1; may be repeated', collect)
    .action((file: string, { conformance, ...out }: Output & { conformance: string[] }) =>
      run([file], { conformance }, out),
    );
  command(pdf, 'encrypt', 'encrypt the document (AES-256)')
    .option('--user-password <text>', 'password that opens the document')
    .option('--owner-password <text>', 'password that lifts the restrictions')
    .option('--allow <list>', `what is allowed without the owner password: ${PERMISSIONS.join(', ')}; all by default`)
    .action((file: string, { userPassword, ownerPassword, allow, ...out }: Output & Record<string, string>) =>
      run(
        [file],
        {
          password: {
            user: userPassword,
            owner: ownerPassword,
            permissions: allow?.split(',').map((one) => one.trim()),
          },
        },
        out as unknown as Output,
      ),
    );
}

interface MetadataFlags {
  title?: string;
  author?: string;
  subject?: string;
  creator?: string;
  producer?: string;
  keyword?: string[];
  custom?: string[];
}

function command(pdf: Command, name: string, description: string, files = '<file>'): Command {
  return pdf
    .command(`${name} ${files}`)
    .description(description)
    .addHelpText('after', `\nExample:\n  stillframe pdf ${name} ${EXAMPLE_OF[name]}`)
    .requiredOption('-o, --output <path>', name === 'split' ? 'directory for the files' : 'the file to write')
    .option('--force', 'overwrite existing files');
}

/** Does the work of a request on files, and writes the results. */
async function run(
  paths: readonly string[],
  request: Record<string, unknown>,
  { output, force = false }: Output,
  toDirectory = false,
): Promise<void> {
  if (toDirectory && !(existsSync(output) && statSync(output).isDirectory()))
    throw new UsageError(`-o is "${output}": it must be a directory, which exists.`);
  if (!toDirectory) await checkWritable(output, force);
  const { chapters, changes, edits, attachments } = parsePdfWork(withoutUndefined(request));
  const { workOnPdfs } = await import('../pdf/work-on-pdfs.js');
  const files = [];
  for (const path of paths) {
    const name = basename(path);
    files.push({ name, content: await readFileOf(path), ...(chapters && { chapter: name.replace(/\.pdf$/i, '') }) });
  }
  const attached = attachments.map(({ name, content = '', mime_type: mimeType, relationship, description = null }) => ({
    name,
    content: Buffer.from(content, 'base64'),
    mimeType,
    relationship,
    description,
  }));
  const all = { ...edits, ...(attached.length > 0 && { attachments: attached }) };
  const made = await workOnPdfs({ files, changes, ...(Object.keys(all).length > 0 && { edits: all }) });
  for (const [nth, { name, content, pages }] of made.entries()) {
    const path = toDirectory ? join(output, `${name.replace(/\.pdf$/i, '')}-${nth + 1}.pdf`) : output;
    await writePicture(path, content, force);
    printLine(`${path}: ${pages} ${pages === 1 ? 'page' : 'pages'}, ${content.length} bytes`);
  }
}

function readPairs(pairs: readonly string[] | undefined): Record<string, string> | undefined {
  return (
    pairs &&
    Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=');
        if (at < 1) throw new OperatorError(`--custom is "${pair}": it must be name=text.`);
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    )
  );
}

function withoutUndefined<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function readNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
