/** Prints schemas of an OpenAPI document as Python types. */

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
}

const HEAD = `"""The types of requests and responses, generated from the OpenAPI document of the service. Do not edit them."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Union

from typing_extensions import NotRequired, TypedDict
`;

const SCALARS: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
  array: 'List[Any]',
  object: 'Dict[str, Any]',
};

/** Names that the syntax of a class does not allow for a field. */
const KEYWORDS = new Set(['from', 'in', 'is', 'not', 'or', 'and', 'if', 'else', 'for', 'as', 'class', 'pass', 'with']);

/** Returns a module with a TypedDict for each named object, and for each object within it. */
export function pythonTypes(schemas: Record<string, unknown>): string {
  const declared: string[] = [];
  for (const [name, schema] of Object.entries(schemas as Record<string, Schema>)) {
    const type = typeOf(schema, name, declared);
    if (type !== name) declared.push(`${name} = ${type}`);
  }
  return `${HEAD}\n${declared.join('\n\n')}\n`;
}

/** @param name of the type that is declared if the schema is an object with known fields */
function typeOf(schema: Schema, name: string, declared: string[]): string {
  const { $ref, anyOf, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) return $ref.replace('#/components/schemas/', '');
  if (schema.const !== undefined) return literal([schema.const]);
  if (schema.enum !== undefined) return literal(schema.enum);
  if (anyOf !== undefined) return union(anyOf.map((one, at) => typeOf(one, at === 0 ? name : name + at, declared)));
  const types = [schema.type ?? []].flat();
  return union(
    types.map((type) => {
      if (type === 'object' && properties !== undefined) return declare(schema, name, declared);
      if (type === 'object' && typeof additionalProperties === 'object')
        return `Dict[str, ${typeOf(additionalProperties, `${name}Value`, declared)}]`;
      if (type === 'array' && items !== undefined) return `List[${typeOf(items, `${name}Item`, declared)}]`;
      return SCALARS[type] ?? 'Any';
    }),
  );
}

/** Declares a TypedDict after those of its fields. */
function declare({ properties = {}, required = [], description }: Schema, name: string, declared: string[]): string {
  const fields = Object.entries(properties).map(([key, field]) => {
    const type = typeOf(field, name + pascal(key), declared);
    return { key, type: required.includes(key) ? type : `NotRequired[${type}]`, about: field.description };
  });
  const isClass = fields.every(({ key }) => /^[A-Za-z_]\w*$/.test(key) && !KEYWORDS.has(key));
  const docstring = (text?: string) => (text === undefined ? '' : `\n    ${quoted(text)}`);
  const body = fields.map(({ key, type, about }) => `    ${key}: ${type}${docstring(about)}`);
  const pairs = fields.map(({ key, type }) => `    ${JSON.stringify(key)}: ${JSON.stringify(type)},`);
  declared.push(
    isClass
      ? `class ${name}(TypedDict):${docstring(description)}\n${body.join('\n') || '    pass'}`
      : `${name} = TypedDict(${JSON.stringify(name)}, {\n${pairs.join('\n')}\n})`,
  );
  return name;
}

function union(types: string[]): string {
  const all = [...new Set(types)];
  return all.length === 0 ? 'Any' : all.length === 1 ? (all[0] ?? 'Any') : `Union[${all.join(', ')}]`;
}

function literal(values: readonly unknown[]): string {
  const printed = values.map((value) =>
    value === null ? 'None' : typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value),
  );
  return values.some((value) => typeof value === 'number' && !Number.isInteger(value))
    ? 'float'
    : `Literal[${printed.join(', ')}]`;
}

function quoted(text: string): string {
  return `"""${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replace(/\s+/g, ' ').trim()}"""`;
}

function pascal(key: string): string {
  return key.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
