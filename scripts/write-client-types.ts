/** Writes src/client/wire.ts: the types of the client, from the OpenAPI document, and the fields that links lack. */
import { writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { NO_LINK_FIELDS } from '../src/contract/render-link.js';
import { API } from '../src/http/app.js';
import { describeInterface } from './openapi.js';

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

/** The content of the file: an exported interface for each schema, and the list. */
async function clientTypes(): Promise<string> {
  const { components, paths, webhooks } = describeInterface(API, '0.0.0', 'http://127.0.0.1') as unknown as Interface;
  // The same but for `url`, `html` and `template`: the client derives them from CaptureRequest.
  const { CaptureHtmlRequest: _, CaptureTemplateRequest: __, ...named } = components.schemas;
  const schemas = {
    ...named,
    JobPage: paths['/v1/jobs']?.get.responses['200']?.content['application/json']?.schema.properties.data,
    CaptureCompletedEvent: webhooks['capture.completed']?.post.requestBody.content['application/json']?.schema,
    BatchEndedEvent: webhooks['batch.completed']?.post.requestBody.content['application/json']?.schema,
    CaptureFailedEvent: webhooks['capture.failed']?.post.requestBody.content['application/json']?.schema,
  };
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
  return `\nexport interface ${member.name.getText()} ${type}\n`;
}

writeFileSync(new URL('../src/client/wire.ts', import.meta.url), await clientTypes());
