/** Templates of an account (extensions.md, Templates). */
import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import { z } from 'zod';
import type { NewTemplate } from '../../capture/templates.js';
import { PAGE_FILES_MAX } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { refusedBody } from '../../contract/request-json.js';
import { TEMPLATE_MAX_BYTES, templateEntrySchema, templateSchema } from '../../contract/template.js';
import type { AppEnv } from '../app-services.js';
import { answerData, clientOf } from '../exchange.js';
import { type Protection, principalOf } from '../guard.js';
import { type FormParts, isForm, type PackedFiles } from '../read-form.js';
import { receiveForm } from '../receive-form.js';
import { extensionRoute, type Route } from '../route.js';
import { refuseWhenDraining } from '../submit-and-wait.js';

const READS: Protection = { scope: 'templates:read', meter: 'reads' };
const WRITES: Protection = { scope: 'templates:write', meter: 'submissions' };

const nameParameter = (description: string) => z.object({ name: z.string().meta({ description, example: 'og-card' }) });
const A_NAME = nameParameter('name of the template, or of a version, such as `og-card@3`');
const NO_TEMPLATE = {
  400: 'The name is not valid.',
  404: 'No such template, or no such version of it, for this account.',
};

const route = (method: Route['method'], path: string, parts: Parameters<typeof extensionRoute>[2]) =>
  extensionRoute('templates', [method, path], parts);

const nameOf = (c: Context<AppEnv>) => c.req.param('name') ?? '';

export const TEMPLATE_ROUTES: readonly Route[] = [
  route('GET', '/v1/templates', {
    access: READS,
    described: {
      operationId: 'listTemplates',
      summary: "List the account's templates by name",
      answers: {
        200: {
          description: 'All templates.',
          data: z.object({
            templates: z.array(templateEntrySchema).meta({ description: 'templates by name', example: [] }),
          }),
        },
      },
    },
    handle: async ({ templates }, c) => answerData(c, { templates: await templates.list(principalOf(c)) }),
  }),
  route('PUT', '/v1/templates/:name', {
    access: WRITES,
    described: {
      operationId: 'pushTemplate',
      summary: 'Store the next version of a template',
      description:
        'The version is tried with the examples of its parameters first. If the newest version has the same files, it is the answer, and nothing is stored.',
      params: nameParameter('name of the template: lower-case letters, digits and hyphens'),
      body: {
        description: `As multipart/form-data: the files, among them \`index.html\` and \`template.json\`, with at most ${TEMPLATE_MAX_BYTES} bytes together.`,
        form: z
          .object({
            files: z
              .array(z.string().meta({ format: 'binary' }))
              .min(1)
              .max(PAGE_FILES_MAX)
              .meta({
                description: 'files, each a part `files` whose file name is its relative path',
                example: ['<!doctype html><h1>{{ title }}</h1>'],
              }),
          })
          .meta(EXTENSION),
      },
      answers: {
        200: { description: 'The newest version, which has the same files.', data: templateSchema },
        201: { description: 'The new version.', data: templateSchema },
      },
      failures: {
        400: 'The template is not valid: `details.issues` names the file and what is wrong.',
        503: 'Shutting down, or the disk is full.',
      },
    },
    async handle(services, c) {
      refuseWhenDraining(services);
      if (!isForm(c.env.incoming))
        throw refusedBody('The body must be multipart/form-data, with the files of the template in parts `files`.');
      await using received = await receiveForm(services, c, (files) => new TemplateParts(files));
      const { template, isNew } = await services.templates.push(principalOf(c), nameOf(c), received.body, clientOf(c));
      return answerData(c, template, isNew ? 201 : 200);
    },
  }),
  route('GET', '/v1/templates/:name', {
    access: READS,
    described: {
      operationId: 'readTemplate',
      summary: 'Read a template',
      params: A_NAME,
      answers: { 200: { description: 'The newest version, or the one that is named.', data: templateSchema } },
      failures: NO_TEMPLATE,
    },
    handle: async ({ templates }, c) => answerData(c, await templates.read(principalOf(c), nameOf(c))),
  }),
  route('DELETE', '/v1/templates/:name', {
    access: WRITES,
    described: {
      operationId: 'deleteTemplate',
      summary: 'Delete a template, or one of its versions',
      description: 'Pictures that were made of it stay. Captures that are still waiting fail.',
      params: A_NAME,
      answers: {
        200: {
          description: 'It is deleted.',
          data: A_NAME.extend({ deleted: z.literal(true).meta({ description: 'always true', example: true }) }),
        },
      },
      failures: { ...NO_TEMPLATE, 409: 'The newest version cannot be deleted alone.' },
    },
    async handle({ templates }, c) {
      await templates.remove(principalOf(c), nameOf(c));
      return answerData(c, { name: nameOf(c), deleted: true });
    },
  }),
];

class TemplateParts implements FormParts<NewTemplate> {
  constructor(private readonly files: PackedFiles) {}

  async take(part: string | undefined, fileName: string | undefined, content: Readable): Promise<void> {
    if (part !== 'files') throw refusedBody(`Unknown part \`${(part ?? '').slice(0, 60)}\`. Known parts: \`files\`.`);
    await this.files.add(fileName ?? '', content);
  }

  async end(): Promise<NewTemplate> {
    return { files: this.files.list, content: await this.files.content(TEMPLATE_MAX_BYTES) };
  }
}
