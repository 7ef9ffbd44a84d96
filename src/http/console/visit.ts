/**
 * One request to the console: its session, its form, and the answer as a page or a redirect. Links are relative, and all pages lie beside
 * each other, so that they work below a path prefix.
 */
import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import type { AppEnv, AppServices, ConsoleServices } from '../app-services.js';
import type { Form } from './form.js';

export interface Visit {
  services: AppServices;
  console: ConsoleServices;
  c: Context<AppEnv>;
  /** The token of the session for its forms. */
  formToken: string;
  /** The secret of the session. */
  secret: string;
}

/** A visit that sends a form. */
export interface FormVisit extends Visit {
  form: Form;
}

export interface Page {
  /** Part of the document's title, and its heading. */
  title: string;
  /** Entry of the navigation that is current. */
  section: Section | null;
  body: Child;
  status?: number | undefined;
}

/** To another page of the console, relative to /console/. */
export interface Redirect {
  to: string;
}

export type Answer = Page | Redirect | Response;

export const SECTIONS = {
  capture: 'Capture',
  compare: 'Compare',
  watches: 'Watches',
  jobs: 'Jobs',
  batches: 'Batches',
  keys: 'Keys',
  accounts: 'Accounts',
  system: 'System',
} as const;
export type Section = keyof typeof SECTIONS;
