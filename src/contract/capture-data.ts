import { z } from 'zod';
import { TOLERATED_CODES } from './capture-extensions.js';
import { INSPECTION_LIMIT_CHARS, URL_MAX_BYTES } from './limits.js';

/** CaptureData of interface.md, internally (camelCase) and on the wire. */

export type StoppedReason = 'viewport' | 'element' | 'end_of_page' | 'max_height' | 'format_limit' | 'time_limit';

export interface RenderDiagnostics {
  algorithm: 'by_sections' | 'native' | 'element';
  sections: number;
  deviceScaleFactor: number;
  /** CSS px. */
  scrollHeight: number;
  stoppedReason: StoppedReason;
  truncated: boolean;
}

export interface Inspection {
  /** At most INSPECTION_LIMIT_CHARS. */
  markdown: string;
  /** At most INSPECTION_LIMIT_CHARS. */
  accessibleTree: string;
}

/** Failures that `tolerate` allowed, and what may be unexpected in a picture (extensions.md, Fields). */
export const WARNING_CODES = [
  ...TOLERATED_CODES,
  'pdf_without_text',
  'density_lowered',
  'missing_file',
  'redirected_to_login',
  'loaded_in_real_time',
] as const;

export interface CaptureWarning {
  code: (typeof WARNING_CODES)[number];
  message: string;
}

export interface CaptureNotes {
  /** `finalUrl` was longer than URL_MAX_BYTES. */
  finalUrlCut?: true;
  /** Never empty. */
  warnings?: CaptureWarning[];
}

export interface CaptureData {
  url: string;
  finalUrl: string;
  format: string;
  /** Output px (PDF: CSS px of its first page). */
  width: number;
  height: number;
  bytes: number;
  durationMs: number;
  cached: boolean;
  blockedRequests: number;
  /** `<name>.<ext>` under /artifacts; the URL is built when it is sent. */
  artifact: string;
  region: string | null;
  egressCountry: string | null;
  diagnostics: RenderDiagnostics;
  /** `diagnostics` on the wire, an extension of the interface; absent if empty. */
  notes?: CaptureNotes;
  inspection: Inspection | null;
}

export const RENDER_DIAGNOSTICS_VERSION = 1;

export const captureDataSchema = z
  .object({
    url: z.string(),
    final_url: z.string(),
    format: z.string(),
    width: z.number().meta({ description: 'of the encoded artifact' }),
    height: z.number(),
    bytes: z.number(),
    duration_ms: z.number(),
    cached: z.boolean().default(false),
    blocked_requests: z.number().default(0),
    data_url: z.string().optional(),
    cdn_url: z.string().optional().meta({ description: 'download location of the artifact' }),
    region: z.string().optional(),
    egress_country: z.string().optional(),
    render_diagnostics: z
      .object({
        version: z.int(),
        algorithm: z.enum(['by_sections', 'native', 'element']),
        sections: z.int().min(0),
        device_scale_factor: z.number().gt(0),
        scroll_height: z.number().min(0),
        stopped_reason: z.string(),
        truncated: z.boolean(),
      })
      .optional(),
    diagnostics: z
      .object({
        final_url_cut: z
          .literal(true)
          .optional()
          .meta({ description: `final_url was longer than ${URL_MAX_BYTES} bytes` }),
        warnings: z
          .array(z.object({ code: z.enum(WARNING_CODES), message: z.string() }))
          .optional()
          .meta({
            description:
              'failures that `tolerate` allowed, and what may be unexpected in the picture: `pdf_without_text` (the PDF holds pictures of the page), `density_lowered` (at the requested density the picture would be too large), `missing_file` (`html` refers to files that are not there), `redirected_to_login` (the page shown is not the one requested, and asks for a password), `loaded_in_real_time` (its server refused it once its clock had run ahead)',
          }),
      })
      .optional()
      .meta({ description: 'other remarks about the capture', 'x-stillframe-extension': true }),
    inspection: z
      .object({
        markdown: z.string().max(INSPECTION_LIMIT_CHARS),
        accessible_tree: z.string().max(INSPECTION_LIMIT_CHARS),
        untrusted_content: z.literal(true),
        character_limit: z.literal(INSPECTION_LIMIT_CHARS),
      })
      .optional(),
  })
  .meta({ id: 'CaptureData' });

export type WireCaptureData = z.output<typeof captureDataSchema>;

/** @param publicBase what `cdn_url` begins with, no trailing slash */
export function toWireCaptureData(data: CaptureData, publicBase: string): WireCaptureData {
  const { diagnostics, inspection, notes } = data;
  return {
    url: data.url,
    final_url: data.finalUrl,
    format: data.format,
    width: data.width,
    height: data.height,
    bytes: data.bytes,
    duration_ms: data.durationMs,
    cached: data.cached,
    blocked_requests: data.blockedRequests,
    cdn_url: `${publicBase}/artifacts/${data.artifact}`,
    ...(data.region === null ? {} : { region: data.region }),
    ...(data.egressCountry === null ? {} : { egress_country: data.egressCountry }),
    render_diagnostics: {
      version: RENDER_DIAGNOSTICS_VERSION,
      algorithm: diagnostics.algorithm,
      sections: diagnostics.sections,
      device_scale_factor: diagnostics.deviceScaleFactor,
      scroll_height: diagnostics.scrollHeight,
      stopped_reason: diagnostics.stoppedReason,
      truncated: diagnostics.truncated,
    },
    ...(notes === undefined ? {} : { diagnostics: toWireNotes(notes) }),
    ...(inspection === null
      ? {}
      : {
          inspection: {
            markdown: inspection.markdown,
            accessible_tree: inspection.accessibleTree,
            untrusted_content: true,
            character_limit: INSPECTION_LIMIT_CHARS,
          },
        }),
  };
}

function toWireNotes({ finalUrlCut, warnings }: CaptureNotes): WireCaptureData['diagnostics'] {
  return { ...(finalUrlCut === true ? { final_url_cut: true } : {}), ...(warnings === undefined ? {} : { warnings }) };
}
