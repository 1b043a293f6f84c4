package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/questions"
	"callgate/internal/protocol"
)

// questionRoutes lists and answers what agents ask.
type questionRoutes struct{ kernel *kernel.Kernel }

func (a *questionRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteQuestions:         a.questions,
		protocol.RouteQuestion:          a.question,
		protocol.RouteAnswerQuestion:    a.answer,
		protocol.RouteQuestionChallenge: a.challenge,
	}
}

func (a *questionRoutes) questions(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Questions.List(r.Context(), questions.State(r.FormValue("state")))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Question))
}

func (a *questionRoutes) question(w http.ResponseWriter, r *http.Request) error {
	asked, err := a.kernel.Questions.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Question(asked))
}

func (a *questionRoutes) answer(w http.ResponseWriter, r *http.Request) error {
	var in protocol.AnswerQuestion
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	settled, err := a.kernel.Questions.Answer(r.Context(), who, r.PathValue("id"), in.Reply)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Question(settled))
}

func (a *questionRoutes) challenge(w http.ResponseWriter, r *http.Request) error {
	who, err := route.Approver(a.kernel, r, "")
	if err != nil {
		return err
	}
	code, err := a.kernel.Questions.Challenge(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.Challenge{Code: code})
}
