/** Writes the types of the clients for JavaScript and Python from the OpenAPI document, and the fields that links lack. */
import { mkdirSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { NO_LINK_FIELDS } from '../src/contract/render-link.js';
import { API } from '../src/http/app.js';
import { describeInterface } from './openapi.js';
import { pythonTypes } from './python-types.js';

const HEAD = `/**
 * The types of requests and responses, generated from the schemas of contract/ by way of openapi.json. Do not edit them.
 */
`;

const LINK_FIELDS = `
/** Fields that a signed link must not have. */
export const NO_LINK_FIELDS = ${JSON.stringify(NO_LINK_FIELDS)} as const;
`;

interface Interface {
  components: { schemas: Record<string, unknown> };
  paths: Record<
    string,
    { get: { responses: Record<string, { content: Record<string, { schema: { properties: { data: unknown } } }> }> } }
  >;
  webhooks: Record<string, { post: { requestBody: { content: Record<string, { schema: unknown }> } } }>;
}

/** The named schemas, and those of answers and webhooks that clients name. */
function namedSchemas(): Record<string, unknown> {
  const { components, paths, webhooks } = describeInterface(API, '0.0.0', 'http://127.0.0.1') as unknown as Interface;
  return {
    ...components.schemas,
    JobPage: paths['/v1/jobs']?.get.responses['200']?.content['application/json']?.schema.properties.data,
    CaptureCompletedEvent: webhooks['capture.completed']?.post.requestBody.content['application/json']?.schema,
    BatchEndedEvent: webhooks['batch.completed']?.post.requestBody.content['application/json']?.schema,
    CaptureFailedEvent: webhooks['capture.failed']?.post.requestBody.content['application/json']?.schema,
  };
}

/** An exported interface for each schema, and the list. */
async function typescriptTypes(): Promise<string> {
  // The same but for `url`, `html` and `template`: the client derives them from CaptureRequest.
  const { CaptureHtmlRequest: _, CaptureTemplateRequest: __, ...schemas } = namedSchemas();
  const document = {
    openapi: '3.1.0',
    info: { title: 'stillframe', version: '0.0.0' },
    paths: {},
    components: { schemas },
  };
  const text = JSON.stringify(document).replaceAll(
    /,\{"\$ref":"#\/components\/schemas\/Capture(Html|Template)Request"\}/g,
    '',
  );
  const printed = astToString(await openapiTS(text));
  return HEAD + schemaMembers(printed).map(declare).join('') + LINK_FIELDS;
}

/** The members of `components.schemas`, which is how openapi-typescript writes named schemas. */
function schemaMembers(printed: string): ts.PropertySignature[] {
  const source = ts.createSourceFile('types.ts', printed, ts.ScriptTarget.ESNext, true);
  const components = source.statements.filter(ts.isInterfaceDeclaration).find(({ name }) => name.text === 'components');
  const schemas = components?.members.filter(ts.isPropertySignature).find(({ name }) => name.getText() === 'schemas');
  if (schemas?.type === undefined || !ts.isTypeLiteralNode(schemas.type))
    throw new Error('openapi-typescript printed no schemas');
  return schemas.type.members.filter(ts.isPropertySignature);
}

function declare(member: ts.PropertySignature): string {
  const type = (member.type?.getText() ?? 'unknown')
    .replace(/components\["schemas"\]\["(\w+)"\]/g, '$1')
    .replace(/^ {8}/gm, '')
    .replaceAll('@description ', '');
  const isObject = type.startsWith('{');
  return `\nexport ${isObject ? 'interface' : 'type'} ${member.name.getText()} ${isObject ? type : `= ${type};`}\n`;
}

/** The same types in Python, and its list. */
function pythonModule(): string {
  const { CaptureError, ...schemas } = namedSchemas() as Record<string, { properties: Record<string, unknown> }>;
  // A form with files has the same fields without a target.
  const {
    html: _,
    base_url: __,
    template: ___,
    data: ____,
    ...properties
  } = schemas.CaptureHtmlRequest?.properties ?? {};
  const CaptureFilesRequest = { ...schemas.CaptureHtmlRequest, properties, required: [] };
  const types = pythonTypes({
    ErrorCode: CaptureError?.properties.code,
    CaptureError,
    ...schemas,
    CaptureFilesRequest,
  });
  return `${types}\nNO_LINK_FIELDS = ${JSON.stringify(NO_LINK_FIELDS).replace('[', '(').replace(']', ')')}\n`;
}

function write(path: string, text: string): void {
  const url = new URL(path, import.meta.url);
  // The image is built without the Python client.
  mkdirSync(new URL('.', url), { recursive: true });
  writeFileSync(url, text);
}

write('../src/client/wire.ts', await typescriptTypes());
write('../clients/python/src/stillframe/wire.py', pythonModule());
