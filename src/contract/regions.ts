export interface Region {
  /** BCP 47. */
  locale: string;
  /** IANA name. */
  timezone: string;
  /** ISO 3166-1 alpha-2, upper case. */
  country: string;
}

/** Locale, timezone and expected egress country of each region (decisions.md, Capture semantics). */
export const REGIONS = {
  us: { locale: 'en-US', timezone: 'America/New_York', country: 'US' },
  ca: { locale: 'en-CA', timezone: 'America/Toronto', country: 'CA' },
  gb: { locale: 'en-GB', timezone: 'Europe/London', country: 'GB' },
  ie: { locale: 'en-IE', timezone: 'Europe/Dublin', country: 'IE' },
  de: { locale: 'de-DE', timezone: 'Europe/Berlin', country: 'DE' },
  fr: { locale: 'fr-FR', timezone: 'Europe/Paris', country: 'FR' },
  es: { locale: 'es-ES', timezone: 'Europe/Madrid', country: 'ES' },
  it: { locale: 'it-IT', timezone: 'Europe/Rome', country: 'IT' },
  nl: { locale: 'nl-NL', timezone: 'Europe/Amsterdam', country: 'NL' },
  sg: { locale: 'en-SG', timezone: 'Asia/Singapore', country: 'SG' },
  au: { locale: 'en-AU', timezone: 'Australia/Sydney', country: 'AU' },
  jp: { locale: 'ja-JP', timezone: 'Asia/Tokyo', country: 'JP' },
  kr: { locale: 'ko-KR', timezone: 'Asia/Seoul', country: 'KR' },
  in: { locale: 'en-IN', timezone: 'Asia/Kolkata', country: 'IN' },
  br: { locale: 'pt-BR', timezone: 'America/Sao_Paulo', country: 'BR' },
  mx: { locale: 'es-MX', timezone: 'America/Mexico_City', country: 'MX' },
  za: { locale: 'en-ZA', timezone: 'Africa/Johannesburg', country: 'ZA' },
  ae: { locale: 'ar-AE', timezone: 'Asia/Dubai', country: 'AE' },
} satisfies Record<string, Region>;

export type RegionName = keyof typeof REGIONS;
export const REGION_NAMES = Object.keys(REGIONS) as RegionName[];
