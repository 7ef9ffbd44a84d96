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
	"math"
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
	dotSegment      = regexp.MustCompile(`/\.\.?(?:[/?]|$)`)
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

// Answer is part of each answer. Raw has all of its fields as JSON, including those that have no field here.
type Answer struct {
	Raw json.RawMessage `json:"-"`
}

func (a *Answer) keep(raw []byte) { a.Raw = raw }

// Picture is a finished capture. Its CDNURL needs no API key.
type Picture struct {
	JobID  string `json:"job_id"`
	CDNURL string `json:"cdn_url"`
	Format string `json:"format"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Bytes  int64  `json:"bytes"`
	Answer
}

// Job is a capture in any state. It has a result once it has ended.
type Job struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Result *struct {
		Data  json.RawMessage `json:"data"`
		Error *Error          `json:"error"`
	} `json:"result"`
}

// Capture captures a page and waits for the picture. After ErrTimeout, Wait resumes the call with the JobID of the error.
func (c *Client) Capture(ctx context.Context, request CaptureRequest) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	picture, wait, err := c.submit(ctx, "/v1/screenshot", &request)
	if err != nil || picture.CDNURL != "" {
		return picture, err
	}
	id := picture.JobID
	if err = pause(ctx, wait); err == nil {
		picture, err = c.Wait(ctx, id)
	}
	return picture, identified(err, id, request.IdempotencyKey)
}

// Submit submits a capture without waiting for it, and returns the id of its job. Use Wait or a webhook to get the result.
func (c *Client) Submit(ctx context.Context, request CaptureRequest) (jobID string, err error) {
	picture, _, err := c.submit(ctx, "/v1/screenshot?mode=async", &request)
	return picture.JobID, err
}

// submit returns the picture, or only the id of its job and the delay before the first look at it.
func (c *Client) submit(ctx context.Context, to string, request *CaptureRequest) (*Picture, time.Duration, error) {
	if request.IdempotencyKey == "" {
		request.IdempotencyKey = newKey()
	}
	call := call{method: "POST", to: to, header: map[string]string{"Idempotency-Key": request.IdempotencyKey}}
	picture := &Picture{}
	if err := call.write(request, request.Files); err != nil {
		return picture, 0, err
	}
	header, err := c.data(ctx, call, picture)
	wait, asked := retryAfter(header)
	if !asked {
		wait = 2 * firstPause
	}
	if err == nil && picture.JobID == "" {
		picture.JobID = header.Get("X-Job-Id")
		err = picture.check()
	}
	return picture, wait, identified(err, picture.JobID, request.IdempotencyKey)
}

// Wait waits for the picture of a job. If the capture failed, its error is returned.
func (c *Client) Wait(ctx context.Context, jobID string) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	for wait := 2 * firstPause; ; wait = min(5*time.Second, wait*13/10) {
		var job Job
		header, err := c.data(ctx, call{method: "GET", to: Path("/v1/jobs", jobID)}, &job)
		if err == nil && job.Result != nil && job.Result.Error != nil {
			return nil, job.Result.Error.reported(0, jobID)
		} else if err == nil && job.Result != nil {
			picture := &Picture{}
			_ = json.Unmarshal(job.Result.Data, picture)
			picture.JobID, picture.Raw = jobID, job.Result.Data
			return picture, picture.check()
		} else if err == nil {
			asked, _ := retryAfter(header)
			err = pause(ctx, max(asked, wait))
		}
		if err != nil {
			return nil, identified(err, jobID, "")
		}
	}
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

// PDF merges, splits and changes PDFs: those of uploads, of jobs, or at addresses of the server. Nothing is stored. The result is a PDF with
// its number of pages, or a zip file with several, which has none.
func (c *Client) PDF(ctx context.Context, request map[string]any, uploads map[string][]byte) (content []byte, pages int, err error) {
	call := call{method: "POST", to: "/v1/pdf", header: map[string]string{}, isFile: true}
	if err = call.write(request, uploads); err != nil {
		return nil, 0, err
	}
	content, header, err := c.send(ctx, call)
	if kind := header.Get("Content-Type"); err == nil && kind != "application/pdf" && kind != "application/zip" {
		return nil, 0, notOurs(200, content)
	}
	pages, _ = strconv.Atoi(header.Get("X-Pages"))
	return content, pages, err
}

// Download downloads the file at the CDNURL of a picture, without the API key, or at a path of the API, such as
// /v1/batches/ID/pictures.zip, with it. A download that breaks off is repeated.
func (c *Client) Download(ctx context.Context, address string) ([]byte, error) {
	content, _, err := c.send(ctx, call{method: "GET", to: address, isFile: true})
	return content, err
}

// DownloadTo downloads as Download does, to a file that is replaced only once the download is whole.
func (c *Client) DownloadTo(ctx context.Context, address, file string) error {
	_, _, err := c.send(ctx, call{method: "GET", to: address, file: file})
	return err
}

// Do calls any other endpoint, such as GET /v1/usage, and decodes the data of its answer into a value. The body and the value may be nil. After
// a lost answer, POST and PATCH requests are repeated only to /v1/compare and /v1/batches, where an idempotency key makes this safe.
func (c *Client) Do(ctx context.Context, method, to string, body, into any) error {
	call := call{method: method, to: to, header: map[string]string{}, once: method == "POST" || method == "PATCH"}
	if method == "POST" && (to == "/v1/compare" || to == "/v1/batches") {
		call.once, call.header["Idempotency-Key"] = false, newKey()
	}
	if err := call.write(body, nil); err != nil {
		return err
	}
	_, err := c.data(ctx, call, into)
	return identified(err, "", call.header["Idempotency-Key"])
}

// Path escapes an id, and appends it to a path of the API.
func Path(of, id string) string { return of + "/" + url.PathEscape(id) }
func isWeb(to *url.URL) bool    { return to.Host != "" && (to.Scheme == "http" || to.Scheme == "https") }

// data sends a call and decodes the data of its answer.
func (c *Client) data(ctx context.Context, call call, into any) (http.Header, error) {
	content, header, err := c.send(ctx, call)
	if err != nil {
		return nil, err
	}
	var answer struct{ Data json.RawMessage }
	if json.Unmarshal(content, &answer) != nil || !bytes.HasPrefix(answer.Data, []byte("{")) || into != nil && json.Unmarshal(answer.Data, into) != nil {
		return nil, notOurs(200, content)
	}
	if value, is := into.(interface{ keep([]byte) }); is {
		value.keep(answer.Data)
	}
	return header, nil
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

func (p *Picture) check() error {
	if p.CDNURL == "" || p.JobID == "" {
		return &Error{Code: "unexpected_response", Message: "The capture has no `cdn_url`, or no job."}
	}
	return nil
}

func newKey() string {
	key := make([]byte, 16)
	_, _ = rand.Read(key)
	return hex.EncodeToString(key)
}

// write makes the body of a call JSON; or, with files, a form.
func (c *call) write(request any, files map[string][]byte) (err error) {
	if request == nil {
		return nil
	}
	if c.body, err = json.Marshal(request); err != nil {
		return invalid("The request cannot be written as JSON: %v", err)
	}
	if files == nil {
		return nil
	}
	var buffer bytes.Buffer
	writer := multipart.NewWriter(&buffer)
	_ = writer.WriteField("request", string(c.body))
	for name, content := range files {
		part, _ := writer.CreateFormFile("files", name)
		_, _ = part.Write(content)
	}
	_ = writer.Close()
	c.body, c.header["Content-Type"] = buffer.Bytes(), writer.FormDataContentType()
	return nil
}

// SignLink makes an address that shows the picture without an API key, for <img src> and Open Graph tags. It makes no request. keyID is the
// id of the API key that captures are charged to (key_…), and signingSecret what `stillframe keys signing-secret` prints.
func (c *Client) SignLink(request CaptureRequest, keyID, signingSecret string, expiresIn time.Duration) (string, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return "", invalid("The request cannot be written as JSON: %v", err)
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // Numbers keep the form in which they were written.
	if err := decoder.Decode(&fields); err != nil || keyID == "" || signingSecret == "" || expiresIn <= 0 {
		return "", invalid("A link needs the id of a key, a signing secret, and a time that is more than 0.")
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
func flatten(values url.Values, prefix string, fields map[string]any) error {
	for name, value := range fields {
		switch value := value.(type) {
		case nil:
		case map[string]any:
			if err := flatten(values, prefix+name+".", value); err != nil {
				return err
			}
		case []any:
			for _, item := range value {
				switch item.(type) {
				case map[string]any, []any, nil:
					return invalid("`%s` is a list of objects, which a link cannot have.", prefix+name)
				}
				values.Add(prefix+name, fmt.Sprint(item))
			}
		default:
			values.Add(prefix+name, fmt.Sprint(value))
		}
	}
	return nil
}

// canonicalQuery returns the signed text: sorted by name (repeated names keep their order), in the encoding of RFC 3986.
func canonicalQuery(values url.Values) string { return strings.ReplaceAll(values.Encode(), "+", "%20") }

func sign(secret, content string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(content))
	return hex.EncodeToString(mac.Sum(nil))
}

// WebhookEvent is the body of a webhook request. A batch.completed event has no JobID: read its Raw.
type WebhookEvent struct {
	Event              string   `json:"event"`
	JobID              string   `json:"job_id"`
	DeliveryID         string   `json:"delivery_id"`
	DeliveryGeneration int      `json:"delivery_generation"`
	Data               *Picture `json:"data"`
	Failure            *Error   `json:"error"`
	Answer
}

// VerifyWebhook verifies the signature of a webhook request in constant time, and returns its event. It needs the body exactly as received.
// A request can be repeated within the tolerance of 5 minutes: recognize it by its DeliveryID and DeliveryGeneration.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*WebhookEvent, error) {
	match := signatureHeader.FindStringSubmatch(header.Get("X-Service-Signature"))
	if match == nil {
		return nil, &Error{Code: "invalid_signature", Message: "The header X-Service-Signature is missing or malformed."}
	}
	genuine := false
	// All secrets are tried, so that the time does not tell which one matches.
	for _, secret := range secrets {
		genuine = secret != "" && hmac.Equal([]byte(sign(secret, match[1]+"."+string(body))), []byte(match[2])) || genuine
	}
	if !genuine {
		return nil, &Error{Code: "invalid_signature", Message: "The signature does not match the body."}
	}
	seconds, _ := strconv.ParseInt(match[1], 10, 64)
	if skew := now().Sub(time.Unix(seconds, 0)); skew.Abs() > 5*time.Minute {
		return nil, &Error{Code: "invalid_signature", Message: "The timestamp is too far from the present."}
	}
	event := &WebhookEvent{}
	if err := json.Unmarshal(body, event); err != nil {
		return nil, &Error{Code: "unexpected_response", Message: "The body is not that of an event: " + err.Error()}
	}
	event.keep(body)
	return event, nil
}

// call is a request with its retries.
type call struct {
	method string
	to     string // Path below the address of the server; or, for downloads, an address, which gets no key and may redirect.
	header map[string]string
	body   []byte
	once   bool   // Whether it must not be sent again after a failure that leaves open whether it arrived.
	file   string // Where a download is stored.
	isFile bool   // Whether the answer is a file, whose size is not limited.
}

// send sends a request until it succeeds, fails for good, or has been tried MaxRetries + 1 times. A stored file has no content.
func (c *Client) send(ctx context.Context, call call) (content []byte, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	for retries := 0; ; retries++ {
		content, header, err = c.attempt(ctx, call)
		if err == nil {
			return content, header, nil
		}
		var failure *Error
		var file *os.PathError
		var renamed *os.LinkError
		if ctx.Err() != nil || errors.As(err, &file) || errors.As(err, &renamed) {
			return nil, nil, ended(ctx, err)
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
			return nil, nil, failure
		}
		if err := pause(ctx, wait); err != nil {
			return nil, nil, err
		}
	}
}

func (c *Client) attempt(ctx context.Context, call call) ([]byte, http.Header, error) {
	client, address, isCall := *c.HTTPClient, call.to, strings.HasPrefix(call.to, "/")
	if isCall {
		// Proxies resolve these, so that the request would go to another path.
		if dotSegment.MatchString(call.to) {
			return nil, nil, invalid("An id must not be . or ..")
		}
		address = c.baseURL + call.to
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	request, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(call.body))
	if err != nil || !isWeb(request.URL) {
		return nil, nil, invalid("%.200q is not an http or https address.", address)
	}
	if isCall {
		request.Header.Set("Accept", "application/json")
		request.Header.Set("Authorization", "Bearer "+c.apiKey)
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range call.header {
		request.Header.Set(name, value)
		if name == "Idempotency-Key" && !printable.MatchString(value) {
			return nil, nil, invalid("An idempotency key must be printable ASCII characters without spaces.")
		}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	limit := int64(64 << 20) // A page of 100 jobs with inspections has at most about 30 MB.
	if response.StatusCode/100 != 2 {
		return nil, nil, failureOf(response)
	} else if call.file != "" {
		return nil, response.Header, store(response.Body, call.file)
	} else if call.isFile {
		limit = math.MaxInt64
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, limit))
	return content, response.Header, err
}

// store writes a file that has its name once it is whole.
func store(body io.Reader, file string) error {
	part := filepath.Join(filepath.Dir(file), ".stillframe-"+newKey())
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
		return ended(ctx, nil)
	}
}

// ended returns the error of a call whose context has ended, or else another error.
func ended(ctx context.Context, other error) error {
	switch ctx.Err() {
	case nil:
		return other
	case context.Canceled:
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
		"connection_failed": ErrConnectionFailed, "timeout": ErrTimeout, "unexpected_response": ErrUnexpectedResponse,
		"invalid_signature": ErrInvalidSignature,
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
