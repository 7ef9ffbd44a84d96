// Package stillframe is a client of stillframe, the self-hosted screenshot and PDF service.
package stillframe

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// Fields that the server refuses in links.
	noLinkFields = strings.Fields("proxy custom_js headers sync webhook html base_url cookies storage_state selector_function annotate " +
		"extract save_html upload steps wait_for_function http_credentials captures viewports color_schemes")
	firstPause      = 500 * time.Millisecond // The tests shorten it.
	now             = time.Now               // The tests change it.
	noID            = regexp.MustCompile(`^[^?]*/\.{0,2}(?:[/?]|$)`)
	printable       = regexp.MustCompile(`^[\x21-\x7e]+$`)
	signatureHeader = regexp.MustCompile(`^t=([0-9]{1,12}),v1=([0-9a-f]{64})$`)
)

// Client is a client of one stillframe server. It may be used by several goroutines; set its fields before.
type Client struct {
	Timeout         time.Duration // Longest time of a call, with its retries and its waiting. The context may end it earlier.
	MaxRetries      int           // How often a request is repeated after a failure that may pass.
	HTTPClient      *http.Client  // Its CheckRedirect applies to downloads only.
	baseURL, apiKey string
}

// New makes a client of the server at baseURL. The API key is sent nowhere else.
func New(baseURL, apiKey string) (*Client, error) {
	address, err := url.Parse(baseURL)
	if err != nil || !isWeb(address) || address.User != nil || strings.ContainsAny(baseURL, "?#") || !printable.MatchString(apiKey) {
		return nil, invalid("A client needs the address of a server, such as https://shots.example.com, and an API key, such as sf_live_….")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 60 * time.Second // A synchronous capture is answered within 25 s.
	return &Client{180 * time.Second, 4, &http.Client{Transport: transport}, strings.TrimRight(address.String(), "/"), apiKey}, nil
}

// CaptureRequest is a capture. Exactly one of URL, HTML, Files and Template is required.
type CaptureRequest struct {
	URL            string            `json:"url,omitempty"`
	HTML           string            `json:"html,omitempty"`
	Template       string            `json:"template,omitempty"`
	Files          map[string][]byte `json:"-"` // A document with its files by relative path, one of them index.html.
	Format         string            `json:"format,omitempty"`
	FullPage       bool              `json:"full_page,omitempty"`
	Fields         map[string]any    `json:"-"` // All other fields of the API by their names, such as "viewport".
	IdempotencyKey string            `json:"-"` // Same key: neither rendered nor charged twice. By default, each call has a new one.
}

// MarshalJSON merges Fields with the others.
func (r CaptureRequest) MarshalJSON() ([]byte, error) {
	type typed CaptureRequest
	body, err := json.Marshal(typed(r))
	if err != nil || len(r.Fields) == 0 {
		return body, err
	}
	fields, err := json.Marshal(r.Fields)
	if string(body) == "{}" || err != nil {
		return fields, err
	}
	return append(append(body[:len(body)-1], ','), fields[1:]...), nil
}

// Picture is a finished capture. Its CDNURL needs no API key. Raw has all of its fields.
type Picture struct {
	JobID  string `json:"job_id"`
	CDNURL string `json:"cdn_url"`
	Format string
	Width  int
	Height int
	Bytes  int64
	Raw    json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps all fields in Raw.
func (p *Picture) UnmarshalJSON(content []byte) error {
	type typed Picture
	p.Raw = bytes.Clone(content)
	return json.Unmarshal(content, (*typed)(p))
}

// Job is a capture in any state. It has a result once it has ended.
type Job struct {
	ID, State string
	Result    *struct {
		Data  *Picture
		Error *Error
	}
}

// Capture captures a page and waits for the picture. After ErrTimeout, Wait resumes the call with the JobID of the error.
func (c *Client) Capture(ctx context.Context, request CaptureRequest) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	picture, header, err := c.submit(ctx, "/v1/screenshot", &request)
	if err != nil || picture.CDNURL != "" {
		return picture, err
	}
	id := picture.JobID
	asked, _ := retryAfter(header)
	if err = pause(ctx, asked); err == nil {
		picture, err = c.Wait(ctx, id)
	}
	return picture, identified(err, id, request.IdempotencyKey)
}

// Submit submits a capture without waiting for it, and returns the id of its job. Use Wait or a webhook to get the result.
func (c *Client) Submit(ctx context.Context, request CaptureRequest) (jobID string, err error) {
	picture, _, err := c.submit(ctx, "/v1/screenshot?mode=async", &request)
	return picture.JobID, err
}

// submit returns the picture, or one that has only the id of its job.
func (c *Client) submit(ctx context.Context, to string, request *CaptureRequest) (*Picture, http.Header, error) {
	request.IdempotencyKey = keyOr(request.IdempotencyKey)
	picture := &Picture{}
	header, err := c.send(ctx, call{method: "POST", to: to, key: request.IdempotencyKey, body: request, files: request.Files}, picture)
	if err == nil && picture.JobID == "" {
		picture, err = picture.of(header.Get("X-Job-Id"))
	}
	return picture, header, identified(err, "", request.IdempotencyKey)
}

// Wait waits for the picture of a job. If the capture failed, its error is returned.
func (c *Client) Wait(ctx context.Context, jobID string) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var err error
	for wait := 2 * firstPause; err == nil; wait = min(5*time.Second, wait*13/10) {
		var job Job
		header, failure := c.send(ctx, call{method: "GET", to: Path("/v1/jobs", jobID)}, &job)
		if failure != nil {
			err = failure
		} else if job.Result == nil {
			asked, _ := retryAfter(header)
			err = pause(ctx, max(asked, wait))
		} else if job.Result.Error != nil {
			err = job.Result.Error.reported(0, jobID)
		} else {
			return job.Result.Data.of(jobID)
		}
	}
	return nil, identified(err, jobID, "")
}

func (p *Picture) of(jobID string) (*Picture, error) {
	if p == nil || p.CDNURL == "" || jobID == "" {
		return p, &Error{Code: "unexpected_response", Message: "The capture has no `cdn_url`, or no job."}
	}
	p.JobID = jobID
	return p, nil
}

// Job looks up a job, whatever its state.
func (c *Client) Job(ctx context.Context, id string) (*Job, error) {
	job := &Job{}
	return job, c.Do(ctx, "GET", Path("/v1/jobs", id), nil, job)
}

// RemoveJob cancels a job that has not ended, which then costs nothing, or deletes the pictures of one that has.
func (c *Client) RemoveJob(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", Path("/v1/jobs", id), nil, nil)
}

// Download downloads the file at the CDNURL of a picture, without the API key, or at a path of the API with it. One that breaks off is repeated.
func (c *Client) Download(ctx context.Context, address string) (content []byte, err error) {
	_, err = c.send(ctx, call{method: "GET", to: address}, &content)
	return content, err
}

// DownloadTo downloads as Download does, to a file that is replaced only once the download is whole.
func (c *Client) DownloadTo(ctx context.Context, address, file string) error {
	_, err := c.send(ctx, call{method: "GET", to: address, file: file}, nil)
	return err
}

// PDF merges, splits and changes PDFs, as POST /v1/pdf does, and stores nothing. The result is a PDF, or a zip file, which has no number of pages.
func (c *Client) PDF(ctx context.Context, request map[string]any, uploads map[string][]byte) (content []byte, pages int, err error) {
	header, err := c.send(ctx, call{method: "POST", to: "/v1/pdf", body: request, files: uploads}, &content)
	if kind := header.Get("Content-Type"); err == nil && kind != "application/pdf" && kind != "application/zip" {
		return nil, 0, notOurs(200, content)
	}
	pages, _ = strconv.Atoi(header.Get("X-Pages"))
	return content, pages, err
}

// Compare compares two pictures: ids of jobs, addresses of pictures, pictures in base64, or capture requests, which are charged as usual.
// The data of the answer goes into a value of yours, such as a struct with some of its fields; so do those of the following methods.
func (c *Client) Compare(ctx context.Context, request map[string]any, into any) error {
	_, err := c.send(ctx, call{method: "POST", to: "/v1/compare", key: keyOr(""), body: request}, into)
	return err
}

// SubmitBatch submits many captures, all or none, without waiting for them. Without an idempotency key, each call has a new one.
func (c *Client) SubmitBatch(ctx context.Context, request map[string]any, idempotencyKey string, into any) error {
	_, err := c.send(ctx, call{method: "POST", to: "/v1/batches", key: keyOr(idempotencyKey), body: request}, into)
	return err
}

// WaitForBatch waits for the end of a batch, and reads it with a page of its captures, failed ones first.
func (c *Client) WaitForBatch(ctx context.Context, id string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var batch struct{ State string }
	for wait := time.Duration(0); batch.State != "completed"; wait = 4 * firstPause {
		err := pause(ctx, wait)
		if err == nil {
			err = c.Do(ctx, "GET", Path("/v1/batches", id)+"?limit=1", nil, &batch)
		}
		if err != nil {
			return err
		}
	}
	return c.Do(ctx, "GET", Path("/v1/batches", id), nil, into)
}

// PushTemplate stores the next version of a template. The same files as those of the newest version make no new one.
func (c *Client) PushTemplate(ctx context.Context, name string, files map[string][]byte, into any) error {
	_, err := c.send(ctx, call{method: "PUT", to: Path("/v1/templates", name), files: files}, into)
	return err
}

// Do calls any endpoint, such as GET /v1/usage. The body and the value for its answer may be nil. A POST is not repeated after a lost answer.
func (c *Client) Do(ctx context.Context, method, to string, body, into any) error {
	_, err := c.send(ctx, call{method: method, to: to, body: body, once: method == "POST"}, into)
	return err
}

// Path escapes an id, and appends it to a path of the API.
func Path(of, id string) string { return of + "/" + url.PathEscape(id) }
func isWeb(to *url.URL) bool    { return to.Host != "" && (to.Scheme == "http" || to.Scheme == "https") }

// SignLink makes an address that shows the picture without an API key, for <img src> and Open Graph tags. It makes no request. keyID is the
// id of the API key that captures are charged to (key_…), and signingSecret what `stillframe keys signing-secret` prints.
func (c *Client) SignLink(request CaptureRequest, keyID, signingSecret string, expiresIn time.Duration) (string, error) {
	body, err := json.Marshal(request)
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // Numbers keep the form in which they were written.
	if errors.Join(err, decoder.Decode(&fields)) != nil || keyID == "" || signingSecret == "" || expiresIn <= 0 {
		return "", invalid("A link needs fields that JSON can have, the id of a key, a signing secret, and a time that is more than 0.")
	}
	for _, name := range noLinkFields {
		if fields[name] != nil {
			return "", invalid("A link must not have `%s`.", name)
		}
	}
	values := url.Values{"key": {keyID}, "expires": {strconv.FormatInt(now().Add(expiresIn).Unix(), 10)}}
	if err := flatten(values, "", fields); err != nil {
		return "", err
	}
	query := canonicalQuery(values)
	return c.baseURL + "/v1/render?" + query + "&signature=" + sign(signingSecret, query), nil
}

// flatten adds fields such as viewport.width=800, with repeated names for lists.
func flatten(values url.Values, prefix string, fields map[string]any) (err error) {
	for name, value := range fields {
		name = prefix + name
		if inner, is := value.(map[string]any); is {
			err = errors.Join(err, flatten(values, name+".", inner))
			continue
		}
		items, isList := value.([]any)
		if !isList && value != nil {
			items = []any{value}
		}
		for _, item := range items {
			switch item.(type) {
			case map[string]any, []any, nil:
				return invalid("`%s` is a list of objects, which a link cannot have.", name)
			}
			values.Add(name, fmt.Sprint(item))
		}
	}
	return err
}

// canonicalQuery returns the signed text: sorted by name (repeated names keep their order), in the encoding of RFC 3986.
func canonicalQuery(values url.Values) string { return strings.ReplaceAll(values.Encode(), "+", "%20") }

func sign(secret, content string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(content))
	return hex.EncodeToString(mac.Sum(nil))
}

// WebhookEvent is the body of a webhook request. Those of batches and watches have more fields, in Raw.
type WebhookEvent struct {
	Event              string
	JobID              string `json:"job_id"`
	DeliveryID         string `json:"delivery_id"`
	DeliveryGeneration int    `json:"delivery_generation"`
	Data               *Picture
	Failure            *Error          `json:"error"`
	Raw                json.RawMessage `json:"-"`
}

// VerifyWebhook verifies the signature of a webhook request in constant time, and returns its event. It needs the body exactly as received.
// A request can be repeated within the tolerance of 5 minutes: recognize it by its DeliveryID and DeliveryGeneration.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*WebhookEvent, error) {
	match := signatureHeader.FindStringSubmatch(header.Get("X-Service-Signature"))
	genuine := false
	// All secrets are tried, so that the time does not tell which one matches.
	for _, secret := range secrets {
		genuine = match != nil && secret != "" && hmac.Equal([]byte(sign(secret, match[1]+"."+string(body))), []byte(match[2])) || genuine
	}
	if !genuine {
		return nil, &Error{Code: "invalid_signature", Message: "The header X-Service-Signature is missing, malformed, or not that of the body."}
	}
	seconds, _ := strconv.ParseInt(match[1], 10, 64)
	if skew := now().Sub(time.Unix(seconds, 0)); skew.Abs() > 5*time.Minute {
		return nil, &Error{Code: "invalid_signature", Message: "The timestamp is too far from the present."}
	}
	event := &WebhookEvent{}
	if err := json.Unmarshal(body, event); err != nil {
		return nil, &Error{Code: "unexpected_response", Message: "The body is not that of an event: " + err.Error()}
	}
	event.Raw = body
	return event, nil
}

// call is a request with its retries.
type call struct {
	method string
	to     string // Path below the address of the server; or, for downloads, an address, which gets no key and may redirect.
	key    string // Idempotency key.
	body   any
	files  map[string][]byte // The body becomes a form.
	once   bool              // Whether it must not be sent again after a failure that leaves open whether it arrived.
	file   string            // Where a download is stored.
}

// encoded returns the content of a request and its type.
func (c call) encoded() (content []byte, kind string, err error) {
	if c.body != nil {
		if content, err = json.Marshal(c.body); err != nil {
			return nil, "", invalid("The request cannot be written as JSON: %v", err)
		}
	}
	if c.files == nil {
		return content, "application/json", nil
	}
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	if c.body != nil {
		_ = writer.WriteField("request", string(content))
	}
	for name, file := range c.files {
		part, _ := writer.CreateFormFile("files", name)
		_, _ = part.Write(file)
	}
	_ = writer.Close()
	return form.Bytes(), writer.FormDataContentType(), nil
}

// send sends a request until it succeeds, fails for good, or has been tried MaxRetries + 1 times. The answer goes to the file of the call, to
// a *[]byte as it is, or to any other value as its data.
func (c *Client) send(ctx context.Context, call call, into any) (header http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	defer func() { err = identified(err, "", call.key) }()
	content, kind, err := call.encoded()
	if err != nil {
		return nil, err
	}
	for retries := 0; ; retries++ {
		header, err := c.attempt(ctx, call, content, kind, into)
		if err == nil {
			return header, nil
		}
		var failure *Error
		var file *os.PathError
		var renamed *os.LinkError
		if ctx.Err() != nil {
			return nil, ended(ctx)
		} else if errors.As(err, &file) || errors.As(err, &renamed) {
			return nil, err
		} else if !errors.As(err, &failure) {
			failure = &Error{Code: "connection_failed", Message: "The connection failed: " + err.Error(), Retriable: true, cause: err}
		}
		longest := min(8*time.Second, firstPause<<min(retries, 10))
		wait := longest/2 + time.Duration(mathrand.Int63n(int64(longest/2)))
		if failure.asked {
			wait = failure.RetryAfter
		}
		end, _ := ctx.Deadline()
		// A failure with a job is that of the capture. If the retry came too late, this failure would be more useful than a timeout.
		if !failure.Retriable || failure.JobID != "" || call.once && failure.Status != 429 && failure.Status != 503 ||
			retries >= c.MaxRetries || time.Now().Add(wait).After(end) {
			return nil, failure
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (c *Client) attempt(ctx context.Context, call call, content []byte, kind string, into any) (http.Header, error) {
	client, address, isCall := *c.HTTPClient, call.to, strings.HasPrefix(call.to, "/")
	if isCall {
		address = c.baseURL + call.to
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	request, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(content))
	if err != nil || !isWeb(request.URL) {
		return nil, invalid("%.200q is not an http or https address.", address)
	} else if isCall && noID.MatchString(call.to) {
		return nil, invalid("An id must not be empty, . or .., since the request would go to another path.")
	} else if call.key != "" && !printable.MatchString(call.key) {
		return nil, invalid("An idempotency key must be printable ASCII characters without spaces.")
	} else if isCall {
		request.Header = http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + c.apiKey}, "Content-Type": {kind}}
	}
	if call.key != "" {
		request.Header.Set("Idempotency-Key", call.key)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	whole, isFile := into.(*[]byte)
	if response.StatusCode/100 != 2 {
		return nil, failureOf(response)
	} else if call.file != "" {
		return response.Header, store(response.Body, call.file)
	} else if isFile {
		*whole, err = io.ReadAll(response.Body)
		return response.Header, err
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<20)) // A page of 100 jobs with inspections has at most about 30 MB.
	var envelope struct{ Data json.RawMessage }
	if err == nil && (json.Unmarshal(answer, &envelope) != nil || !bytes.HasPrefix(envelope.Data, []byte("{")) ||
		into != nil && json.Unmarshal(envelope.Data, into) != nil) {
		err = notOurs(response.StatusCode, answer)
	}
	return response.Header, err
}

// identified adds to an error the ids with which the caller can resume the call.
func identified(err error, jobID, key string) error {
	if failure, is := err.(*Error); is {
		failure.IdempotencyKey = key
		if failure.JobID == "" {
			failure.JobID = jobID
		}
	}
	return err
}

// keyOr returns the key, or a new one.
func keyOr(key string) string {
	random := make([]byte, 16)
	if _, _ = rand.Read(random); key == "" {
		return hex.EncodeToString(random)
	}
	return key
}

// store writes a file that has its name once it is whole.
func store(body io.Reader, file string) error {
	part := filepath.Join(filepath.Dir(file), ".stillframe-"+keyOr(""))
	written, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(part)
	_, err = io.Copy(written, body)
	if err = errors.Join(err, written.Close()); err != nil {
		return err
	}
	return os.Rename(part, file)
}

func failureOf(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	var answer struct{ Error *Error }
	failure := notOurs(response.StatusCode, body)
	if response.StatusCode/100 == 3 {
		failure.Message = fmt.Sprintf("The server redirects to %.200q. The API key is sent only to its own address.", response.Header.Get("Location"))
	} else if json.Unmarshal(body, &answer) == nil && answer.Error != nil && answer.Error.Code != "" {
		failure = answer.Error.reported(response.StatusCode, "")
	}
	failure.RetryAfter, failure.asked = retryAfter(response.Header)
	return failure
}

func notOurs(status int, body []byte) *Error {
	excerpt := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 200)]), "")), " ")
	message := fmt.Sprintf("The answer with status %d is not one of stillframe: %s", status, excerpt)
	// Proxies and load balancers answer with these when another attempt may succeed.
	passing := strings.Contains("408 425 429 500 502 503 504", strconv.Itoa(status))
	return &Error{Code: "unexpected_response", Message: message, Status: status, Retriable: passing}
}

// retryAfter reads the seconds of Retry-After, or its date, at most a day, and returns whether it is there.
func retryAfter(header http.Header) (time.Duration, bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, 24*time.Hour), true
	}
	at, err := http.ParseTime(text)
	return min(max(0, time.Until(at)), 24*time.Hour), err == nil
}

func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

func ended(ctx context.Context) error {
	if ctx.Err() == context.Canceled {
		return &Error{Code: "canceled", Message: "The call was canceled.", cause: ctx.Err()}
	}
	return &Error{Code: "timeout", Message: "The call has not ended in time.", Retriable: true, cause: ctx.Err()}
}

// The kinds of failures, for errors.Is.
var (
	ErrInvalidRequest     = errors.New("a field or an argument is invalid, or something does not exist")
	ErrNotAllowed         = errors.New("the API key is unknown, revoked, or lacks a scope")
	ErrLimitExceeded      = errors.New("the rate limit or the credits of the account are exhausted")
	ErrCaptureFailed      = errors.New("the capture failed; a new attempt needs a new idempotency key")
	ErrConnectionFailed   = errors.New("there was no answer, or one that was cut off")
	ErrTimeout            = errors.New("the call took longer than its timeout; a capture continues on the server")
	ErrUnexpectedResponse = errors.New("the answer is not one of stillframe, such as the error page of a proxy")
	ErrInvalidSignature   = errors.New("a webhook request is not genuine, or too old")
	kinds                 = map[string]error{
		"invalid_request": ErrInvalidRequest, "unsupported_option": ErrInvalidRequest, "idempotency_conflict": ErrInvalidRequest,
		"unauthorized": ErrNotAllowed, "forbidden": ErrNotAllowed, "quota_exceeded": ErrLimitExceeded, "rate_limited": ErrLimitExceeded,
		"connection_failed": ErrConnectionFailed, "timeout": ErrTimeout, "unexpected_response": ErrUnexpectedResponse, "invalid_signature": ErrInvalidSignature,
	}
)

// Error is the failure of a call. It is of one of the kinds above, and wraps its cause, such as context.Canceled.
type Error struct {
	Code           string         `json:"code"`
	Message        string         `json:"message"`
	Retriable      bool           `json:"retriable"` // Whether the same request may succeed later.
	Status         int            `json:"-"`         // HTTP status; 0 without an answer, and for a failure that a job reports.
	Details        map[string]any `json:"details"`   // Such as the issues of an invalid request.
	RequestID      string         `json:"request_id"`
	DocsURL        string         `json:"docs_url"`
	RetryAfter     time.Duration  `json:"-"` // Delay that the server asks for.
	JobID          string         `json:"-"` // The job can be looked up, and waited for after a timeout.
	IdempotencyKey string         `json:"-"` // A repetition with the same key is neither rendered nor charged twice.
	cause          error
	asked          bool // Whether the server sent a Retry-After, which may be 0.
}

func (e *Error) Error() string { return fmt.Sprintf("stillframe: %s: %s", e.Code, e.Message) }
func (e *Error) Unwrap() error { return e.cause }
func (e *Error) Is(kind error) bool {
	known, has := kinds[e.Code]
	return has && kind == known || !has && kind == ErrCaptureFailed && e.JobID != ""
}

// reported completes an error that the server reports, in an answer or in a job.
func (e *Error) reported(status int, jobID string) *Error {
	e.Status, e.JobID = status, jobID
	if id, is := e.Details["job_id"].(string); is && jobID == "" {
		e.JobID = id
	}
	if hint, is := e.Details["hint"].(string); is {
		e.Message += " " + hint
	}
	return e
}

func invalid(format string, values ...any) *Error {
	return &Error{Code: "invalid_request", Message: fmt.Sprintf(format, values...)}
}
