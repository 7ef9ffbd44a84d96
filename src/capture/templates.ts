/** Templates for callers, and for their captures. A caller sees those of its account. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../account/authenticate.js';
import { CaptureError, notFound, refusedField } from '../contract/capture-error.js';
import { isObject, readTemplateReference, type TemplateReference } from '../contract/field-rules.js';
import { newId } from '../contract/ids.js';
import { INDEX_FILE, type PageFile, type PageFilesOption } from '../contract/page-files.js';
import { readRequestJson } from '../contract/request-json.js';
import { inField, invalidRequest, parseFields, parseSubmission } from '../contract/submission.js';
import {
  isTemplateSource,
  MANIFEST_FILE,
  MANIFEST_MAX_BYTES,
  manifestProblems,
  manifestSchema,
  sampleData,
  servedFiles,
  TEMPLATE_MAX_BYTES,
  TEMPLATE_SOURCE_MAX_BYTES,
  TEMPLATE_VERSIONS_MAX,
  TEMPLATES_MAX,
  TEMPLATES_MAX_BYTES,
  type Template,
  type TemplateManifest,
  toWireTemplate,
} from '../contract/template.js';
import type { FileContents } from '../render/guard/own-files.js';
import type { TemplateStore } from '../store/store.js';
import type { TemplateRenderer } from '../templates/template-renderer.js';

export interface TemplatesDeps {
  store: TemplateStore;
  renderer: Pick<TemplateRenderer, 'render'>;
  now(): number;
}

/** Files of a template as they are sent: their places are those in `content`. */
export interface NewTemplate {
  files: readonly PageFile[];
  content: Buffer;
}

type Caller = Pick<Principal, 'accountId'>;

const LIMITS = { versions: TEMPLATE_VERSIONS_MAX, templates: TEMPLATES_MAX, bytes: TEMPLATES_MAX_BYTES };
/** Contents of versions that are kept in memory, since many captures use the same few. */
const KEPT_BYTES = 40_000_000;

export class Templates {
  readonly #contents = new LRUCache<string, Buffer>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ length }) => length + 1,
  });

  constructor(private readonly deps: TemplatesDeps) {}

  /**
   * Stores the next version of a template, unless the newest has the same files.
   * @returns whether there is a new version
   * @throws CaptureError `invalid_request`, `quota_exceeded`
   */
  async push({ accountId }: Caller, name: string, upload: NewTemplate, signal: AbortSignal) {
    const { store, now } = this.deps;
    const reference = referenceOf(name);
    if (reference.version !== null) throw refusedField('name', 'must have no version: each push makes the next one');
    const manifest = await this.check(upload, signal);
    const { files, content } = upload;
    const listed = files
      .map((file) => [file.name, file.sha256])
      .sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
    const sha256 = createHash('sha256').update(JSON.stringify(listed)).digest('hex');
    const newest = await store.findTemplate({ accountId, name, version: null });
    if (newest?.sha256 === sha256) return { template: await this.#wire(newest), isNew: false };
    const at = now();
    const made = {
      id: newId('template', at),
      accountId,
      name,
      manifest,
      files,
      bytes: content.length,
      sha256,
      createdAt: at,
    };
    const template = await store.insertTemplate(made, content, LIMITS);
    if (template === null)
      throw new CaptureError({
        code: 'quota_exceeded',
        message: `An account may have ${TEMPLATES_MAX} templates with ${TEMPLATE_VERSIONS_MAX} versions each, and ${TEMPLATES_MAX_BYTES / 1_000_000} MB in all. Delete what is no longer used.`,
      });
    return { template: await this.#wire(template), isNew: true };
  }

  /** Tries a template with examples of its parameters. @returns its manifest. @throws CaptureError `invalid_request` */
  async check({ files, content }: NewTemplate, signal: AbortSignal): Promise<TemplateManifest> {
    if (content.length > TEMPLATE_MAX_BYTES)
      throw refusedField('files', `must be at most ${TEMPLATE_MAX_BYTES} bytes together`);
    if (!files.some(({ name }) => name === INDEX_FILE)) throw refusedField(INDEX_FILE, 'is missing');
    const manifest = readManifest({ files, content });
    const sources = sourcesOf({ files, content });
    await this.deps.renderer.render({ sources, data: sampleData(manifest.parameters), isChecked: true }, signal);
    return manifest;
  }

  async list({ accountId }: Caller) {
    return (await this.deps.store.listTemplates(accountId)).map(({ manifest, createdAt, ...entry }) => ({
      ...entry,
      description: manifest.description ?? null,
      created_at: createdAt,
    }));
  }

  /** @param name such as `og-card` or `og-card@3`. @throws CaptureError `invalid_request` (404) */
  async read({ accountId }: Caller, name: string) {
    const found = await this.deps.store.findTemplate({ accountId, ...referenceOf(name) });
    if (found === null) throw notFound(NOT_FOUND);
    return await this.#wire(found);
  }

  /** Deletes a template, or one of its versions. @throws CaptureError `invalid_request` (404, 409) */
  async remove({ accountId }: Caller, text: string): Promise<void> {
    const { store } = this.deps;
    const { name, version } = referenceOf(text);
    if (version === null) {
      if ((await store.deleteTemplate(accountId, name)) === 0) throw notFound(NOT_FOUND);
    } else if (!(await store.deleteTemplateVersion(accountId, name, version))) {
      if ((await store.findTemplate({ accountId, name, version })) === null) throw notFound(NOT_FOUND);
      throw new CaptureError({
        code: 'invalid_request',
        status: 409,
        message: 'The newest version cannot be deleted alone: push another one first, or delete the template.',
      });
    }
  }

  /**
   * Finds the template that the body of a request names.
   * @returns null if it names none, or not in the form of a name
   * @throws CaptureError `invalid_request` for one that the account does not have
   */
  async find(body: unknown, { accountId }: Caller): Promise<Template | null> {
    const reference = isObject(body) ? readTemplateReference(body.template) : null;
    if (reference === null) return null;
    const found = await this.deps.store.findTemplate({ accountId, ...reference });
    if (found === null)
      throw refusedField(
        'template',
        `is not a template${reference.version === null ? '' : ', or not a version of one,'} of this account; GET /v1/templates lists them`,
      );
    return found;
  }

  /**
   * Makes the document of a capture.
   * @returns the files that the page may read, with the document in place of the template's own
   * @throws CaptureError `invalid_request`, also if the version has been deleted
   */
  async open(
    files: PageFilesOption,
    signal: AbortSignal,
  ): Promise<{ list: readonly PageFile[]; contents: FileContents }> {
    const { list, template } = files;
    const id = template?.id ?? '';
    const content = this.#contents.get(id) ?? (await this.deps.store.templateContent(id));
    if (content === null)
      throw new CaptureError({ code: 'invalid_request', message: 'This version of the template has been deleted.' });
    this.#contents.set(id, content);
    const task = { sources: sourcesOf({ files: list, content }), data: template?.data ?? {} };
    return withDocument({ files: list, content }, await this.deps.renderer.render(task, signal));
  }

  async #wire(template: Template) {
    return toWireTemplate(template, await this.deps.store.templateVersions(template.accountId, template.name));
  }
}

const NOT_FOUND = 'No such template, or no such version of it, for this account.';

/** @throws CaptureError `invalid_request` */
function referenceOf(name: string): TemplateReference {
  const reference = readTemplateReference(name);
  if (reference === null)
    throw refusedField(
      'name',
      'must be 1 to 64 lower-case letters, digits and hyphens, such as og-card; a version follows an @, as in og-card@3',
    );
  return reference;
}

/** @throws CaptureError `invalid_request` */
export function readManifest({ files, content }: NewTemplate): TemplateManifest {
  const file = files.find(({ name }) => name === MANIFEST_FILE);
  if (file === undefined) return manifestSchema.parse({});
  const read = readRequestJson(bytesOf(file, content), MANIFEST_MAX_BYTES, `The file ${MANIFEST_FILE}`);
  return inField(MANIFEST_FILE, () => {
    const manifest = parseFields(manifestSchema, read);
    const problems = manifestProblems(manifest, files);
    if (problems.length > 0) throw invalidRequest(problems);
    const rules = { forceAsync: false, webhookAllow: [], allowInsecureTls: true };
    inField('capture', () => parseSubmission({ ...manifest.capture, html: '<p>' }, rules));
    return manifest;
  });
}

/** @throws CaptureError `invalid_request` for a source that is too large, or not in UTF-8 */
export function sourcesOf({ files, content }: NewTemplate): Record<string, string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const sources = files.filter(({ name }) => isTemplateSource(name));
  if (sources.reduce((sum, { bytes }) => sum + bytes, 0) > TEMPLATE_SOURCE_MAX_BYTES)
    throw refusedField(
      INDEX_FILE,
      `must be at most ${TEMPLATE_SOURCE_MAX_BYTES} bytes, together with the .liquid files`,
    );
  return Object.fromEntries(
    sources.map((file) => {
      try {
        return [file.name, utf8.decode(bytesOf(file, content))];
      } catch {
        throw refusedField(file.name, 'must be in UTF-8');
      }
    }),
  );
}

/** The files that a page may read: the sources and the manifest are left out, and the document is behind the others. */
export function withDocument({ files, content }: NewTemplate, html: string) {
  const document = Buffer.from(html);
  const index = { name: INDEX_FILE, type: 'text/html; charset=utf-8', at: content.length, bytes: document.length };
  const sha256 = createHash('sha256').update(document).digest('hex');
  const read = async ({ start, end }: { start: number; end: number }) => {
    const [from, at] = start < content.length ? [content, start] : [document, start - content.length];
    return Readable.from([from.subarray(at, at + end - start + 1)]);
  };
  return { list: [...servedFiles(files), { ...index, sha256 }], contents: { read } };
}

function bytesOf({ at, bytes }: PageFile, content: Buffer): Buffer {
  return content.subarray(at, at + bytes);
}
