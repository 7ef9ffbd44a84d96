import { z } from 'zod';
import { limited } from './field-rules.js';
import * as limits from './limits.js';
import { normalizeTargetUrl, type TargetUrl } from './read-url.js';

/** `steps` of a capture request (extensions.md, Steps): what is done to the page before its picture. */

type Member =
  | 'selector'
  | 'hidden'
  | 'text'
  | 'secret'
  | 'key'
  | 'value'
  | 'uncheck'
  | 'url'
  | 'expression'
  | 'script'
  | 'ms';

interface Form {
  /** Exactly one member of each group is given. */
  needs: readonly (readonly Member[])[];
  may?: readonly Member[];
}

/** The members of each action. All have `optional` too. */
const FORMS = {
  click: { needs: [['selector']] },
  hover: { needs: [['selector']] },
  type: { needs: [['selector'], ['text', 'secret']] },
  press: { needs: [['key']], may: ['selector'] },
  select: { needs: [['selector'], ['value']] },
  check: { needs: [['selector']], may: ['uncheck'] },
  scroll_to: { needs: [['selector']] },
  wait_for: { needs: [['selector', 'hidden', 'text', 'url', 'expression', 'ms']] },
  evaluate: { needs: [['script']] },
  go_to: { needs: [['url']] },
} as const satisfies Record<string, Form>;

export type StepAction = keyof typeof FORMS;
const ACTIONS = Object.keys(FORMS) as StepAction[];

const selector = () => limited(limits.STEP_SELECTOR_MAX_CHARS).trim().min(1).optional();
const code = () => limited(limits.CUSTOM_CODE_MAX_CHARS).trim().min(1).optional();

const members = {
  selector: selector().meta({
    description:
      'Playwright\'s selector, such as CSS, `text=Sign in` or `role=button[name="Save"]`; the first visible match counts',
    example: 'text=Sign in',
  }),
  hidden: selector().meta({
    description: 'wait_for: until nothing visible matches this selector',
    example: '.spinner',
  }),
  text: limited(limits.STEP_TEXT_MAX_CHARS).optional().meta({
    description: 'type: the new content of the field; wait_for: until this text is visible',
    example: 'ada@example.com',
  }),
  secret: limited(limits.STEP_TEXT_MAX_CHARS).min(1).optional().meta({
    description: 'type: in place of `text`, write-only',
    example: 'correct horse battery staple',
    writeOnly: true,
    mcp: false,
  }),
  key: limited(limits.STEP_KEY_MAX_CHARS)
    .trim()
    .min(1)
    .optional()
    .meta({ description: 'press: a key, such as Enter or Control+A', example: 'Enter' }),
  value: limited(limits.STEP_TEXT_MAX_CHARS)
    .optional()
    .meta({ description: 'select: value or label of the option', example: 'de' }),
  uncheck: z.boolean().optional().meta({ description: 'check: remove the check mark instead', example: true }),
  url: limited(limits.URL_MAX_BYTES).trim().min(1).optional().meta({
    description:
      'go_to: public HTTP or HTTPS address; wait_for: until the address of the page is this, where `*` is any text',
    example: 'https://example.com/account',
  }),
  expression: code().meta({
    description: 'wait_for: until this JavaScript expression is true',
    example: 'window.ready === true',
    mcp: false,
  }),
  script: code().meta({
    description: 'evaluate: JavaScript to run, as `custom_js`',
    example: "document.querySelector('details').open = true",
    mcp: false,
  }),
  ms: z
    .int()
    .min(0)
    .max(limits.DELAY_MS.max)
    .optional()
    .meta({ description: "wait_for: ms of the page's time", example: 500 }),
};

const optional = z.boolean().default(false).meta({ description: 'whether the capture goes on if the step fails' });
const action = (actions: readonly StepAction[]) =>
  z.enum(actions).meta({ description: 'what to do', example: 'click' });

export const stepSchema = z
  .strictObject({ action: action(ACTIONS), ...members, optional })
  .superRefine((step, context) => {
    for (const { path, message } of stepProblems(step)) context.addIssue({ code: 'custom', path: [path], message });
  });

const { secret: _secret, expression: _expression, script: _script, ...agentMembers } = members;
/** Steps for agents: without secrets and scripts. */
export const agentStepsSchema = z
  .array(z.strictObject({ action: action(ACTIONS.filter((name) => name !== 'evaluate')), ...agentMembers, optional }))
  .max(limits.STEPS_MAX_ITEMS);

/** A step as it was requested; the `url` of go_to is normalized. */
export type Step = z.output<typeof stepSchema>;

/** @returns what is missing from a step, or does not belong to its action */
function stepProblems(step: Step): { path: string; message: string }[] {
  const { needs, may = [] }: Form = FORMS[step.action];
  const present = (Object.keys(members) as Member[]).filter((name) => step[name] !== undefined);
  const known = [...needs.flat(), ...may];
  const problems = present
    .filter((name) => !known.includes(name))
    .map((path) => ({
      path: path as string,
      message: `does not apply to ${step.action}, which takes ${named(known, 'and')}`,
    }));
  for (const group of needs) {
    const ones = group.filter((name) => present.includes(name));
    if (ones.length === 0)
      problems.push({
        path: group[0] ?? '',
        message:
          group.length === 1 ? `is required for ${step.action}` : `is required, or ${named(group.slice(1), 'or')}`,
      });
    if (ones.length > 1) problems.push({ path: ones[1] ?? '', message: `cannot be combined with \`${ones[0]}\`` });
  }
  if (step.action === 'wait_for' && step.text?.trim() === '')
    problems.push({ path: 'text', message: 'must not be empty' });
  const target = targetOf(step);
  if (target !== null && 'problem' in target) problems.push({ path: 'url', message: target.problem });
  return problems;
}

function named(names: readonly string[], joint: 'and' | 'or'): string {
  return new Intl.ListFormat('en-GB', { type: joint === 'and' ? 'conjunction' : 'disjunction' }).format(
    names.map((name) => `\`${name}\``),
  );
}

function targetOf({ action: name, url }: Step): TargetUrl | null {
  return name === 'go_to' && url !== undefined ? normalizeTargetUrl(url) : null;
}

/** A step with the `url` of go_to as the browser spells it. @param step that has no problem */
export function normalizedStep(step: Step): Step {
  const target = targetOf(step);
  return target !== null && 'url' in target ? { ...step, url: target.url } : step;
}
